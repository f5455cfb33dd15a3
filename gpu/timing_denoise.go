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
// including the kernels that prepare a frame and excluding copies to and from the host. It borrows
// the frames; 13 are enough. p.Noise must be the sigma of their noise. With each, it also times the
// kernels one by one.
func (b *Backend) TimeDenoise(ctx context.Context, frames []*pipeline.Frame, p kernels.Denoise, r Repeat, each bool) (t DenoiseTimes, err error) {
	o := p.Denoising(autoTier)
	d := &denoiser{backend: b, unit: b.units[0], cell: o.Motion.Cell}
	defer d.Idle()
	runs, release, err := d.runsFor(ctx, frames, o)
	defer release()
	if err != nil {
		return t, err
	}
	if t.All, err = d.timeRuns(ctx, runs, r); err != nil || !each {
		return t, err
	}
	for i, run := range runs {
		// The kernels before leave what it reads, such as the search's sums for the gates.
		if err := d.slots.do(func() error { return d.run(runs[:i]) }); err != nil {
			return t, err
		}
		if err := d.slots.settle(); err != nil {
			return t, d.slots.failed(err, d.slots.op)
		}
		times, err := d.timeRuns(ctx, runs[i:i+1], r)
		if err != nil {
			return t, err
		}
		t.Each = append(t.Each, KernelTime{Kernel: run.Kernel.Name, Blocks: run.Grid, Threads: run.Block[0] * run.Block[1], Shared: run.Shared, Time: slices.Min(times)})
	}
	return t, nil
}

// runsFor prepares a window of frames and returns the launches for the frame in its middle,
// starting with those that prepare a frame. The caller releases the window, even after an error.
func (d *denoiser) runsFor(ctx context.Context, frames []*pipeline.Frame, o denoise.Options) (runs []device.Run, release func(), err error) {
	var pictures []*cudaPicture
	release = func() {
		for _, p := range pictures {
			p.Release()
		}
	}
	before, after := o.Window()
	job := device.Job{Centre: before, Noise: noise.Flat(o.Sigma), Settings: o.Settings}
	for _, f := range frames[:before+1+after] {
		p, err := d.Prepare(ctx, f, plane.Whole)
		if err != nil {
			return nil, release, err
		}
		pictures = append(pictures, p.(*cudaPicture))
		job.Window = append(job.Window, uint64(pictures[len(pictures)-1].memory.address))
	}
	first := pictures[0]
	layout, info := first.kind.layout, frames[0].Layout.Info()
	for range o.Runs {
		s, err := d.Sum(ctx, first)
		if err != nil {
			return nil, release, err
		}
		for range plane.SumOf {
			if err := s.Add(ctx, first); err != nil {
				return nil, release, err
			}
		}
		job.Past = append(job.Past, device.Past{Sum: uint64(s.(*cudaSum).memory.address), Count: plane.SumOf})
	}
	part := d.backend.partOf(frames[0], d.unit, plane.Whole)
	coarse := device.Coarse(job.Noise, job.Settings)
	var source, result *stage
	err = d.slots.do(func() (err error) {
		for _, p := range pictures {
			if err := d.run(layout.Smooth(uint64(p.memory.address), coarse)); err != nil {
				return err
			}
		}
		if source, err = d.slots.stage(inward, part.place.size); err == nil {
			result, err = d.slots.stage(outward, part.place.size)
		}
		return err
	})
	if err != nil {
		return nil, release, err
	}
	job.Work, job.Result = uint64(first.kind.work.address), part.samples(result.address)
	job.Depth, job.Shift = info.Depth, info.Shift
	denoising, err := layout.Denoise(job)
	last := job.Window[len(job.Window)-1]
	runs = slices.Concat(layout.Prepare(last, part.samples(source.address)), layout.Smooth(last, coarse), denoising)
	for _, p := range job.Past[:min(1, len(job.Past))] {
		runs = append(runs, layout.Add(job.Window[0], p.Sum, 1)...)
	}
	return runs, release, err
}

// timeRuns times launches in sequence.
func (d *denoiser) timeRuns(ctx context.Context, runs []device.Run, r Repeat) ([]time.Duration, error) {
	t, err := newTrial(d.unit, 1, func(_ int, s []cu.Stream) error { return d.slots.launch(s[0], runs) })
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
