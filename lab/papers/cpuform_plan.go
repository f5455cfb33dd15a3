package papers

// #include "cpuform.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// CPUPlan holds the constants and memory for filtering frames of one format by a CPU form. Only
// one goroutine may use it at a time.
type CPUPlan struct {
	form    *C.vf_form
	format  pipeline.Format
	threads int
	job     *C.vf_form_job
	memory  []uint64 // Go's, so that it needs no explicit free
	pinner  runtime.Pinner
}

// Plan returns the plan for frames of a format on that many threads, 0 for as many as the form can
// use. It fails for a format other than RGBA, options other than the form's, or more threads than
// the form can use.
func (v CPUVariant) Plan(stage kernels.Planned, f pipeline.Format, threads int) (*CPUPlan, error) {
	if err := v.Refuses(stage); err != nil {
		return nil, err
	}
	if f.Layout != pipeline.RGBA {
		return nil, fmt.Errorf("papers: %s filters rgba only, not %s", v.Name, f.Layout)
	}
	threads, err := v.ThreadsFor(threads)
	if err != nil {
		return nil, err
	}
	p := stage.(kernels.Bilateral)
	plan := &CPUPlan{form: v.form, format: f, threads: threads, job: new(C.vf_form_job)}
	j := plan.job
	j.width, j.height, j.radius = C.int(f.Width), C.int(f.Height), C.int(p.Radius)
	j.sigma_r = C.float(min(max(p.SigmaR, 1e-6), 1e9)) // beyond, the result is the same
	for dy, row := range kernels.SpatialWeights(p) {
		for dx, gs := range row {
			j.spatial[dy*C.VF_FORM_ROW+dx] = C.float(gs)
		}
	}
	plan.memory = make([]uint64, C.vf_form_memory(v.form, j)/8+1)
	return plan, nil
}

// Filter filters src into dst. Both have the plan's format and share no memory. It does not write
// to src, and writes only the samples of dst. Interlaced frames are filtered field by field. When
// the context ends, it stops after the current row, tile or band and returns the context's cause.
func (p *CPUPlan) Filter(ctx context.Context, dst, src *pipeline.Frame) error {
	if src.Format != p.format || dst.Format != p.format {
		return fmt.Errorf("papers: the plan is for %s, the frames are %s and %s", p.format, src.Format, dst.Format)
	}
	for first, step := 0, fields(src); first < step; first++ {
		p.point(dst, src, first, step)
		p.run(ctx)
		p.unpoint()
	}
	return context.Cause(ctx)
}

// fields is how many fields of a frame are filtered separately.
func fields(f *pipeline.Frame) int {
	if f.Interlaced && f.Height > 1 {
		return 2
	}
	return 1
}

// point sets the job's rows to first, first + step ... of two frames. Go's memory is pinned so
// that C may hold pointers to it.
func (p *CPUPlan) point(to, from *pipeline.Frame, first, step int) {
	src, dst := &from.Row(0, first)[0], &to.Row(0, first)[0]
	p.pinner.Pin(src)
	p.pinner.Pin(dst)
	p.pinner.Pin(&p.memory[0])
	j := p.job
	j.src, j.dst, j.memory = (*C.uint8_t)(src), (*C.uint8_t)(dst), unsafe.Pointer(&p.memory[0])
	j.src_pitch, j.dst_pitch = C.ptrdiff_t(step*from.Planes[0].Pitch), C.ptrdiff_t(step*to.Planes[0].Pitch)
	j.height = C.int((from.Height - first + step - 1) / step)
}

func (p *CPUPlan) unpoint() {
	p.pinner.Unpin()
	p.job.src, p.job.dst, p.job.memory = nil, nil, nil
}

// run takes the form's steps, for each of its channels.
func (p *CPUPlan) run(ctx context.Context) {
	for channel := range p.form.channels {
		for step := range C.int(C.VF_FORM_STEPS) {
			p.step(ctx, channel, step)
		}
	}
}

// step runs the parts of one step and waits for them. Each thread takes a contiguous range of
// parts, like OpenMP's parallel for by default.
func (p *CPUPlan) step(ctx context.Context, channel, step C.int) {
	parts := int(C.vf_form_parts(p.form, p.job, step))
	threads := min(p.threads, parts)
	stretch := func(thread int) {
		for part := thread * parts / threads; part < (thread+1)*parts/threads && ctx.Err() == nil; part++ {
			C.vf_form_run(p.form, p.job, step, channel, C.int(part))
		}
	}
	var all sync.WaitGroup
	for thread := range threads {
		all.Go(func() { stretch(thread) })
	}
	all.Wait()
}
