package gpu

import (
	"context"
	"slices"
	"time"

	"gorgonia.org/cu"

	"vidfilter/denoise"
	"vidfilter/denoise/device"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// DenoiseTimes are the times of the denoiser's kernels for one frame.
type DenoiseTimes struct {
	All  []time.Duration // one after another, one time per batch
	Each []KernelTime    // alone, in their order
}

// KernelTime is the least time of a launch.
type KernelTime struct {
	Kernel  string
	Blocks  [2]int
	Threads int // per block
	Shared  int // dynamic shared memory per block, in bytes
	Time    time.Duration
}

// TimeDenoise returns how long the denoiser's kernels take for the middle frame of a window,
// including the kernels that prepare a frame and excluding copies to and from the host. Frames run
// side by side as in a filter. It borrows the frames; 13 are enough. p.Noise must be the sigma of
// their noise. With each, it also times the kernels one by one.
func (b *Backend) TimeDenoise(ctx context.Context, frames []*pipeline.Frame, p kernels.Denoise, r Repeat, each bool) (t DenoiseTimes, err error) {
	o := p.Denoising(autoTier)
	d := newDenoiser(b, b.units[0], o.Settings)
	defer d.Idle()
	lanes, release, err := d.runsFor(ctx, frames, o)
	defer release()
	if err != nil {
		return t, err
	}
	if t.All, err = d.timeRuns(ctx, lanes, r); err != nil || !each {
		return t, err
	}
	runs := lanes[0]
	for i, run := range runs {
		// The kernels before leave its inputs, such as the search's sums for the gates.
		if err := d.slots.do(func() error { return d.make(runs[:i]) }); err != nil {
			return t, err
		}
		if err := d.slots.settle(); err != nil {
			return t, d.slots.failed(err, d.slots.op)
		}
		times, err := d.timeRuns(ctx, [][]device.Run{runs[i : i+1]}, r)
		if err != nil {
			return t, err
		}
		t.Each = append(t.Each, KernelTime{Kernel: run.Kernel.Name, Blocks: run.Grid, Threads: run.Block[0] * run.Block[1], Shared: run.Shared, Time: slices.Min(times)})
	}
	return t, nil
}

// runsFor prepares a window of frames and returns, for each lane, the launches for the frame in its
// middle, starting with those that prepare a frame. The caller releases the window, even after an
// error.
func (d *denoiser) runsFor(ctx context.Context, frames []*pipeline.Frame, o denoise.Options) (lanes [][]device.Run, release func(), err error) {
	var pictures []*cudaPicture
	release = func() {
		for _, p := range pictures {
			p.Release()
		}
	}
	before, _ := o.Window()
	job := device.Job{Centre: before, Noise: noise.Flat(o.Sigma), Settings: o.Settings}
	for i := range d.window - 1 + d.most { // the last ones are of the lanes
		p, err := d.Prepare(ctx, frames[min(i, d.window-1)], plane.Whole)
		if err != nil {
			return nil, release, err
		}
		pictures = append(pictures, p.(*cudaPicture))
	}
	for range o.Runs {
		s, err := d.Sum(ctx, pictures[0])
		if err != nil {
			return nil, release, err
		}
		for range plane.SumOf {
			if err := s.Add(ctx, pictures[0]); err != nil {
				return nil, release, err
			}
		}
		job.Past = append(job.Past, device.Past{Sum: uint64(s.(*cudaSum).memory.address), Count: plane.SumOf})
	}
	err = d.slots.do(func() error {
		coarse := device.Coarse(job.Noise, job.Settings)
		for _, p := range pictures {
			if err := d.make(p.kind.layout.Smooth(uint64(p.memory.address), coarse)); err != nil {
				return err
			}
		}
		for lane := range d.lanes {
			runs, err := d.runsOf(lane, frames[0], pictures, job)
			if err != nil {
				return err
			}
			lanes = append(lanes, runs)
		}
		return nil
	})
	if err == nil {
		err = d.slots.failed(d.slots.settle(), d.slots.op)
	}
	return lanes, release, err
}

// runsOf returns the launches of a job in a lane, whose window ends with a picture of its own.
func (d *denoiser) runsOf(lane int, f *pipeline.Frame, pictures []*cudaPicture, job device.Job) (runs []device.Run, err error) {
	k, part := pictures[0].kind, d.backend.partOf(f, d.unit, plane.Whole)
	source, err := d.slots.stage(inward, part.place.size)
	if err != nil {
		return nil, err
	}
	result, err := d.slots.stage(outward, part.place.size)
	if err != nil {
		return nil, err
	}
	if job.Work, err = d.workOf(k, lane); err != nil {
		return nil, err
	}
	last := uint64(pictures[d.window-1+lane].memory.address)
	for _, p := range pictures[:d.window-1] {
		job.Window = append(job.Window, uint64(p.memory.address))
	}
	job.Window = append(job.Window, last)
	info := f.Layout.Info()
	job.Result, job.Depth, job.Shift = part.samples(result.address), info.Depth, info.Shift
	denoising, err := k.layout.Denoise(job)
	coarse := device.Coarse(job.Noise, job.Settings)
	runs = slices.Concat(k.layout.Prepare(last, part.samples(source.address)), k.layout.Smooth(last, coarse), denoising)
	for _, p := range job.Past[:min(1, len(job.Past))] {
		runs = append(runs, k.layout.Add(job.Window[0], p.Sum, p.Sum, 1)...)
	}
	return runs, err
}

// timeRuns times the launches of lanes, each in its stream, in turn.
func (d *denoiser) timeRuns(ctx context.Context, lanes [][]device.Run, r Repeat) ([]time.Duration, error) {
	t, err := newBenchmark(d.unit, len(lanes), func(i int, s []cu.Stream) error {
		return d.slots.launch(s[i%len(s)], lanes[i%len(s)])
	})
	if err != nil {
		return nil, err
	}
	defer t.close()
	times, err := t.measure(ctx, r)
	if err != nil && !isContext(ctx, err) {
		err = d.slots.failed(err, d.slots.op)
	}
	return times, err
}
