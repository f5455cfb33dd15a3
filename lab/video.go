package lab

import (
	"context"
	"errors"
	"slices"

	"vidfilter/gpu"
	"vidfilter/kernels"
)

// akersExperiments are tables 1.1 and 1.2: successive frames of a video. Times include copies, but
// not reading and writing.
func akersExperiments() (all []*experiment) {
	for i, size := range []Size{size4K, size8K} {
		all = append(all, &experiment{Experiment: Experiment{
			ID: "001-" + []string{"4k", "8k"}[i], Paper: "001", Title: []string{"4K", "8K"}[i] + " video, radius 1", Axis: "",
			Source: []string{"table 1.1", "table 1.2"}[i],
			Remarks: []string{"ms is a frame's, from host memory to host memory. The CUDA version of the paper has pinned memory and two streams; " +
				"it does not say what one stream or pageable memory cost."},
		}, figures: akersFigures(), run: video{size}.run})
	}
	return all
}

type video struct{ size Size }

// The paper gives no sigmas; they do not affect the times.
func videoParams() kernels.Bilateral { return kernels.DefaultBilateral(1) }

func (v video) run(ctx context.Context, r *run, e *experiment) error {
	for _, c := range contenders("001") {
		if !r.runs(c) || !c.takes(1) {
			continue
		}
		if err := v.rows(ctx, r, e, c); err != nil {
			return err
		}
	}
	own, err := r.own(videoParams())
	if errors.Is(err, kernels.ErrNoKernel) {
		return nil
	} else if err != nil {
		return err
	}
	return v.rows(ctx, r, e, own)
}

// rows measures one form: on the CPU with its threads, on the GPU with each kind of memory and
// number of streams.
func (v video) rows(ctx context.Context, r *run, e *experiment, c contender) error {
	p := c.Adapt(videoParams())
	size := r.size(v.size)
	check, err := r.check(ctx, c, p)
	if err != nil {
		return err
	}
	src, err := r.picture(size)
	if err != nil {
		return err
	}
	add := func(row Row) {
		row.Check = check
		if !c.own && row.Memory != memoryPageable && row.Streams != 1 {
			row.Paper = r.published(e, row.Version, v.size, radiusOf(p), 0)
		}
		e.Rows = append(e.Rows, row)
	}
	if c.cpu != nil {
		row := c.row(size, p)
		if err := r.onCPU(ctx, &row, c, p, src, r.threadsOf(c)); err != nil {
			return err
		}
		add(row)
		return nil
	}
	for _, copies := range []gpu.Copies{{Streams: 1, Pageable: true}, {Streams: 2, Pageable: true}, {Streams: 1}, {Streams: 2}} {
		row := c.row(size, p)
		row.Streams, row.Memory = copies.Streams, memoryOf(copies)
		if row.Time, err = r.timeStep(ctx, c, p, src, copies); err != nil {
			return err
		}
		add(row)
	}
	return nil
}

const (
	memoryPinned   = "pinned"
	memoryPageable = "pageable"
)

func memoryOf(c gpu.Copies) string {
	if c.Pageable {
		return memoryPageable
	}
	return memoryPinned
}

// threadsOf returns 1 for single-threaded forms.
func (r *run) threadsOf(c contender) int {
	if n := c.cpu.Threads; n > 0 {
		return min(n, r.threads())
	}
	return r.threads()
}

// steps returns 1, 2, 4 ... and n.
func steps(n int) (all []int) {
	for k := 1; k < n; k *= 2 {
		all = append(all, k)
	}
	return slices.Compact(append(all, n))
}
