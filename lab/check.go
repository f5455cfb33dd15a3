package lab

import (
	"context"
	"fmt"

	"vidfilter/bench/measure"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// A form may differ from the Go reference by a level, the thesis' own bound, and in a fiftieth of the samples: the
// papers' approximations of exp are in it.
var bound = measure.Check{Largest: 1, Share: 0.02}

// Algorithms C and D of 002 go back from a block's edge until a sum of distances reaches kappa sigma_s. A kernel's sum is in single
// precision, of pixels in 16 bits, so it ends a pixel off now and then; there a level more may differ, and along that line.
var boundOfWalks = measure.Check{Largest: 2, Share: 0.05}

// held says whether a form's difference from the reference is within what it may be.
func (c contender) held(found measure.Check) bool {
	b := bound
	if c.gpu != nil && c.gpu.Approximation.Algorithm != kernels.AlgorithmA {
		b = boundOfWalks
	}
	return found.Largest <= b.Largest && found.Share <= b.Share
}

// answer is a small picture and what the reference makes of it.
type answer struct{ src, want *pipeline.Frame }

// checkSize has several blocks of every kernel, cut off at the edges.
func (r *run) checkSize() Size {
	if r.o.Shrink > 1 {
		return Size{Width: 67, Height: 43}
	}
	return Size{Width: 141, Height: 75}
}

// answer returns the picture and what filter, a reference, makes of it, once for each key.
func (r *run) answer(key string, filter func(dst, src *pipeline.Frame) error) (*answer, error) {
	if a := r.answers[key]; a != nil {
		return a, nil
	}
	small := &run{scenes: map[Size]*scenery{}} // the large one stays
	src, err := small.picture(r.checkSize())
	if err != nil {
		return nil, err
	}
	a := &answer{src, newFormat(src.Format)}
	if err := filter(a.want, src); err != nil {
		return nil, err
	}
	r.answers[key] = a
	return a, nil
}

// check holds a form to the reference of its own semantics, once for each set of options.
func (r *run) check(ctx context.Context, c contender, p kernels.Params) (measure.Check, error) {
	key := fmt.Sprintf("%+v", p)
	reference := func(dst, src *pipeline.Frame) error { return kernels.Reference(dst, src, p) }
	if p.Filter == kernels.Recursive && c.gpu != nil {
		key += fmt.Sprintf("%+v", c.gpu.Approximation)
		reference = func(dst, src *pipeline.Frame) error { return kernels.RecursiveApprox(dst, src, p, c.gpu.Approximation) }
	}
	if done, ok := r.seen[c.name()+key]; ok {
		return done, nil
	}
	a, err := r.answer(key, reference)
	if err != nil {
		return measure.Check{}, err
	}
	got := newFormat(a.src.Format)
	if err := r.filter(ctx, c, p, got, a.src); err != nil {
		return measure.Check{}, err
	}
	found := measure.Compare(got, a.want)
	if !c.held(found) {
		return found, &measure.WrongResult{What: fmt.Sprintf("%s with %s on %s", c.name(), options(p), a.src.Format), Check: found, OnGPU: c.gpu != nil}
	}
	r.seen[c.name()+key] = found
	return found, nil
}

func options(p kernels.Params) string {
	if p.Filter == kernels.Recursive {
		return fmt.Sprintf("sigma %g/%g", p.SigmaS, p.SigmaR)
	}
	return fmt.Sprintf("radius %d", p.Radius)
}

// filter filters one frame with a contender.
func (r *run) filter(ctx context.Context, c contender, p kernels.Params, dst, src *pipeline.Frame) error {
	if c.gpu != nil {
		return r.gpu.RunKernel(ctx, *c.gpu, p, dst, src)
	}
	plan, err := c.cpu.Plan(p, src.Format, 0)
	if err != nil {
		return err
	}
	return plan.Filter(ctx, dst, src)
}
