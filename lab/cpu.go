package lab

import (
	"context"
	"runtime"
	"time"

	"vidfilter/bench/measure"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// threads is how many the program may use.
func (r *run) threads() int { return runtime.GOMAXPROCS(0) }

// budget is how long a form of the CPU is timed; what takes longer is timed on a part of the picture.
func (r *run) budget() time.Duration {
	switch {
	case r.tiny():
		return time.Millisecond
	case r.o.Quick:
		return 150 * time.Millisecond
	}
	return 600 * time.Millisecond
}

const cpuRuns = 3

// timeCPU times a form of the CPU on so many threads, and says which part of the picture it did; the time is scaled to all of it.
func (r *run) timeCPU(ctx context.Context, c contender, p kernels.Params, src *pipeline.Frame, threads int) (measure.Stat, float64, error) {
	r.say(c, "radius %d, %s, threads: %d", p.Radius, src.Format, threads)
	rows := min(2*p.Radius+8*threads, src.Height)
	one, err := timeOnce(ctx, c, p, upper(src, rows), threads)
	if err != nil {
		return measure.Stat{}, 0, err
	}
	whole := work(p, src.Width, src.Height)
	share := float64(r.budget()) / cpuRuns / float64(one) * work(p, src.Width, rows) / whole
	rows = max(rows, min(src.Height, int(share*float64(src.Height))+2*p.Radius))
	part := work(p, src.Width, rows) / whole
	var times []time.Duration
	for range cpuRuns {
		t, err := timeOnce(ctx, c, p, upper(src, rows), threads)
		if err != nil {
			return measure.Stat{}, 0, err
		}
		times = append(times, time.Duration(float64(t)/part))
	}
	return measure.StatOf(times), part, nil
}

// work is how many pixels are filtered: of a frame whose border is left as it is, those within.
func work(p kernels.Params, width, height int) float64 {
	if p.Border == kernels.Skip {
		width, height = width-2*p.Radius, height-2*p.Radius
	}
	return max(float64(width), 1) * max(float64(height), 1)
}

func timeOnce(ctx context.Context, c contender, p kernels.Params, src *pipeline.Frame, threads int) (time.Duration, error) {
	plan, err := c.cpu.Plan(p, src.Format, threads)
	if err != nil {
		return 0, err
	}
	dst := newFormat(src.Format)
	start := time.Now()
	err = plan.Filter(ctx, dst, src)
	return max(time.Since(start), 1), err
}
