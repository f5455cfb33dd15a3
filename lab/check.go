package lab

import (
	"context"
	"fmt"

	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// bound limits the difference from the Go reference: one level, the thesis' own bound, in a
// fiftieth of the samples. It allows for the papers' approximations of exp.
var bound = measure.Check{Largest: 1, Share: 0.02}

// boundOfWalks is the bound for algorithms C and D of 002, which go back from a block's edge until
// a sum of distances reaches kappa sigma_s. A kernel sums in single precision over 16-bit pixels,
// so it sometimes stops one pixel off; results along that line may then differ by one more level.
var boundOfWalks = measure.Check{Largest: 2, Share: 0.05}

// bound returns the bound of a form's difference from the reference.
func (c contender) bound() measure.Check {
	if c.Approximation.Algorithm != papers.AlgorithmA {
		return boundOfWalks
	}
	return bound
}

// answer is a small picture and the reference's result for it.
type answer struct{ src, want *pipeline.Frame }

// checkSize covers several blocks of every kernel, cut off at the edges.
func (r *run) checkSize() Size {
	if r.o.Shrink > 1 {
		return Size{Width: 67, Height: 43}
	}
	return Size{Width: 141, Height: 75}
}

// answer returns the picture and the result of filter, a reference. It computes each key once.
func (r *run) answer(key string, filter func(dst, src *pipeline.Frame) error) (*answer, error) {
	if a := r.answers[key]; a != nil {
		return a, nil
	}
	src, err := drawScene(r.checkSize())
	if err != nil {
		return nil, err
	}
	a := &answer{src, pipeline.Blank(src.Format)}
	if err := filter(a.want, src); err != nil {
		return nil, err
	}
	r.answers[key] = a
	return a, nil
}

// answerKey is the same for contenders with the same reference.
func (c contender) answerKey(p kernels.Planned) string {
	return fmt.Sprintf("%+v %+v %v %+v", p, c.Semantics, c.own, c.Approximation)
}

// check compares a form with the reference of its own semantics, once for each set of options.
func (r *run) check(ctx context.Context, c contender, p kernels.Planned) (measure.Check, error) {
	key := c.answerKey(p)
	if done, ok := r.seen[c.name+key]; ok {
		return done, nil
	}
	a, err := r.answer(key, c.reference(p))
	if err != nil {
		return measure.Check{}, err
	}
	what := fmt.Sprintf("%s with %s on %s", c.name, options(p), a.src.Format)
	found, err := measure.Verify(a.src, a.want, c.bound(), what, c.gpu != nil, func(dst, src *pipeline.Frame) error {
		return r.filter(ctx, c, p, dst, src)
	})
	if err == nil {
		r.seen[c.name+key] = found
	}
	return found, err
}

func options(p kernels.Planned) string {
	if p, ok := p.(kernels.Recursive); ok {
		return fmt.Sprintf("sigma %g/%g", p.SigmaS, p.SigmaR)
	}
	return fmt.Sprintf("radius %d", radiusOf(p))
}

func (r *run) filter(ctx context.Context, c contender, p kernels.Planned, dst, src *pipeline.Frame) error {
	if c.gpu != nil {
		return r.GPU.RunKernel(ctx, c.gpu.Planner(p), dst, src)
	}
	plan, err := c.cpu.Plan(p, src.Format, 0)
	if err != nil {
		return err
	}
	return plan.Filter(ctx, dst, src)
}
