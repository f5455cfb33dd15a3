package kernels

// #include "cpuform.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"vidfilter/pipeline"
)

// CPUPlan is what filtering frames of one format by a CPU form needs: the constants, and the form's memory. It is used from one goroutine at
// a time.
type CPUPlan struct {
	form    *C.vf_form
	format  pipeline.Format
	threads int
	job     *C.vf_form_job
	memory  []uint64 // Go's, so that nobody need free it
	pinner  runtime.Pinner
}

// Plan returns the plan for frames of a format on so many threads, 0 for as many as the form can use. A format other than RGBA, options
// of another meaning than the form's, and more threads than it has are errors.
func (v CPUVariant) Plan(p Params, f pipeline.Format, threads int) (*CPUPlan, error) {
	if err := v.takes(p); err != nil {
		return nil, err
	}
	if f.Layout != pipeline.RGBA {
		return nil, fmt.Errorf("kernels: %s filters rgba only, not %s", v.Name, f.Layout)
	}
	threads, err := v.threads(threads)
	if err != nil {
		return nil, err
	}
	plan := &CPUPlan{form: v.form, format: f, threads: threads, job: new(C.vf_form_job)}
	j := plan.job
	j.width, j.height, j.radius = C.int(f.Width), C.int(f.Height), C.int(p.Radius)
	j.sigma_r = C.float(min(max(p.SigmaR, 1e-6), 1e9)) // beyond, the result is the same
	for dy, row := range spatialWeights(p) {
		for dx, gs := range row {
			j.spatial[dy*C.VF_FORM_ROW+dx] = C.float(gs)
		}
	}
	plan.memory = make([]uint64, C.vf_form_memory(v.form, j)/8+1)
	return plan, nil
}

// Filter filters src into dst; both have the plan's format and share no memory. src is not written, of dst only samples are. Interlaced
// frames are filtered field by field. It fails with the context's cause when that ends, after the row, tile or band at hand.
func (p *CPUPlan) Filter(ctx context.Context, dst, src *pipeline.Frame) error {
	if err := checkPair(dst, src); err != nil {
		return err
	}
	if src.Format != p.format {
		return fmt.Errorf("kernels: the plan is for %s, the frame is %s", p.format, src.Format)
	}
	from, n := fieldsOf(src, src.Interlaced)
	to, _ := fieldsOf(dst, src.Interlaced)
	for i := range n {
		p.point(to[i], from[i])
		p.run(ctx)
		p.unpoint()
	}
	return context.Cause(ctx)
}

// point lets the job work on one field. C may have pointers to Go's memory while it is pinned.
func (p *CPUPlan) point(to, from field) {
	src, dst := &from.planes[0].Data[0], &to.planes[0].Data[0]
	p.pinner.Pin(src)
	p.pinner.Pin(dst)
	p.pinner.Pin(&p.memory[0])
	j := p.job
	j.src, j.dst, j.memory = (*C.uint8_t)(src), (*C.uint8_t)(dst), unsafe.Pointer(&p.memory[0])
	j.src_pitch, j.dst_pitch = C.ptrdiff_t(from.planes[0].Pitch), C.ptrdiff_t(to.planes[0].Pitch)
	j.height = C.int(from.height)
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

// step runs the parts of one step. Each thread has a stretch of them, as OpenMP's parallel for gives it by default, and all have ended when it
// returns.
func (p *CPUPlan) step(ctx context.Context, channel, step C.int) {
	parts := int(C.vf_form_parts(p.form, p.job, step))
	threads := min(p.threads, parts)
	stretch := func(thread int) {
		for part := thread * parts / threads; part < (thread+1)*parts/threads && ctx.Err() == nil; part++ {
			C.vf_form_run(p.form, p.job, step, channel, C.int(part))
		}
	}
	var others sync.WaitGroup
	for thread := 1; thread < threads; thread++ {
		others.Go(func() { stretch(thread) })
	}
	if parts > 0 {
		stretch(0)
	}
	others.Wait()
}
