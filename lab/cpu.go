package lab

import (
	"context"
	"math"
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
	return 1500 * time.Millisecond
}

const cpuRuns = 3

// timeCPU times a form of the CPU on so many threads, and says which part of the picture it did; the time is scaled to all of it.
func (r *run) timeCPU(ctx context.Context, c contender, p kernels.Params, src *pipeline.Frame, threads int) (measure.Stat, float64, error) {
	r.say(c, "radius %d, %s, threads: %d", p.Radius, src.Format, threads)
	whole := Size{Width: src.Width, Height: src.Height}
	part := portion(p, whole, 32*leastRows*threads, threads)
	one, err := timeOnce(ctx, c, p, corner(src, part), threads)
	if err != nil {
		return measure.Stat{}, 0, err
	}
	if enough := int(work(p, part) * float64(r.budget()) / cpuRuns / float64(one)); enough > int(work(p, part)) {
		part = portion(p, whole, enough, threads)
	}
	share := work(p, part) / work(p, whole)
	var times []time.Duration
	for range cpuRuns {
		t, err := timeOnce(ctx, c, p, corner(src, part), threads)
		if err != nil {
			return measure.Stat{}, 0, err
		}
		times = append(times, time.Duration(float64(t)/share))
	}
	return measure.StatOf(times), share, nil
}

// leastRows is how many rows a thread gets of a part.
const leastRows = 8

// portion returns a part of a picture of which about so many pixels are filtered, as square as it can be: a form that does half of each
// pair, or keeps tiles, does more than its share along the edges.
func portion(p kernels.Params, whole Size, pixels, threads int) Size {
	edge := 0
	if p.Border == kernels.Skip {
		edge = 2 * p.Radius
	}
	rows := max(leastRows*threads, int(math.Sqrt(float64(pixels))))
	rows = min(rows, max(whole.Height-edge, 1))
	if columns := (pixels + rows - 1) / rows; columns >= whole.Width-edge { // whole rows, and so more of them
		rows = min(max(rows, pixels/max(whole.Width-edge, 1)), max(whole.Height-edge, 1))
	}
	columns := (pixels + rows - 1) / rows
	return Size{Width: min(columns+edge, whole.Width), Height: min(rows+edge, whole.Height)}
}

// work is how many pixels are filtered: of a frame whose border is left as it is, those within.
func work(p kernels.Params, s Size) float64 {
	if p.Border == kernels.Skip {
		s.Width, s.Height = s.Width-2*p.Radius, s.Height-2*p.Radius
	}
	return max(float64(s.Width), 1) * max(float64(s.Height), 1)
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
