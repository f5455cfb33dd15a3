package kernels

import (
	"context"
	"fmt"

	"vidfilter/pipeline"
)

// CPUForm is the backend that filters by one of the CPU forms. Its filters take RGBA and options of the form's meaning only; frames of
// several filters at a time take turns.
type CPUForm struct {
	variant CPUVariant
	threads int
	turn    chan struct{} // holds one element while nobody filters
}

var _ Backend = (*CPUForm)(nil)

// NewCPUForm returns a backend that filters by the CPU form of a name, on so many threads, 0 for as many as the form can use. More threads
// than it has are an error: a sequential program is one of one thread.
func NewCPUForm(name string, threads int) (Backend, error) {
	v, err := NamedCPU(name)
	if err != nil {
		return nil, err
	}
	if threads, err = v.threads(threads); err != nil {
		return nil, err
	}
	c := &CPUForm{variant: v, threads: threads, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c, nil
}

// Name returns a line such as "cpu (cpu_naive of 003, 8 threads)".
func (c *CPUForm) Name() string {
	return fmt.Sprintf("cpu (%s of %s, %s)", c.variant.Name, c.variant.Paper, countThreads(c.threads))
}

// Input returns the backend itself: all memory is the same to it.
func (c *CPUForm) Input() pipeline.Allocator { return c }

// Held returns 0.
func (c *CPUForm) Held() int { return 0 }

// Alloc returns memory of the C heap, aligned to pipeline.PitchAlign and not cleared.
func (c *CPUForm) Alloc(size int) (pipeline.Memory, error) { return allocHost(size) }

// Close returns nil: nothing is held.
func (c *CPUForm) Close() error { return nil }

// formFilter keeps the plan for the format of its last frame.
type formFilter struct {
	backend *CPUForm
	params  Params
	plan    *CPUPlan
}

// Filter returns a filter that holds no frame between calls. Options of another meaning than the form's are an error here, frames
// other than RGBA one of its Process.
func (c *CPUForm) Filter(p Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := c.variant.takes(p); err != nil {
		return nil, err
	}
	return &cpuFilter{pool: pool, runner: &formFilter{backend: c, params: p}}, nil
}

func (f *formFilter) run(ctx context.Context, out, in *pipeline.Frame) error {
	if f.plan == nil || f.plan.format != in.Format {
		plan, err := f.backend.variant.Plan(f.params, in.Format, f.backend.threads)
		if err != nil {
			return err
		}
		f.plan = plan
	}
	select {
	case <-f.backend.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { f.backend.turn <- struct{}{} }()
	return f.plan.Filter(ctx, out, in)
}
