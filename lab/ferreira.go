package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// The sigmas of figures 6 and 8: pixels, and levels.
var ferreiraSigmas = [][2]float64{{50, 50}, {200, 150}}

// iterations of the paper's measurements.
const iterations = 2

func recursiveParams(sigma [2]float64) kernels.Recursive {
	return kernels.Recursive{SigmaS: sigma[0], SigmaR: sigma[1], Iterations: iterations}
}

// ferreiraExperiments are figures 8 and 6. The text preserves only a few words of their plots.
func ferreiraExperiments() []*experiment {
	return []*experiment{
		{Experiment: Experiment{ID: "002-speed", Paper: "002", Title: "RGB, 2 iterations, 256 to 2048 squared", Axis: "side", Source: "figure 8",
			Remarks: []string{"The paper's plots are lost; the text gives about 10 ms at 2048x2048 on an RTX 2080 Ti, 6 s on a CPU with 12 threads, " +
				"and C as up to twice as fast as A. x seq. is over this program's CPU filter on all cores, x naive over algorithm A."},
		}, figures: ferreiraFigures(), run: speedRows},
		{Experiment: Experiment{ID: "002-quality", Paper: "002", Title: "what C and D lose by kappa, 768x512", Axis: "kappa", Source: "figure 6",
			Remarks: []string{"The paper's plot is lost; the text says that the error falls fast up to 0.5, and that more than 2 brings nothing. Its " +
				"pictures are 20 photographs, here it is the samples' scene. Without a GPU the Go reference does the algorithms, and is not timed."},
		}, run: qualityRows},
	}
}

// ferreiraFigures are the two times in the text, each to about one digit. The text does not name
// the algorithm of the GPU's; C, its best, is assumed.
func ferreiraFigures() []Published {
	side := Size{Width: 2048, Height: 2048}
	return []Published{
		{Version: versionCPU, Size: side, Ms: 6000, Sequential: 1, Table: "text", Hardware: "Core i7-8700, 12 threads", Remark: "about"},
		{Version: papers.AlgorithmC.String(), Size: side, Ms: 10, Sequential: 600, Table: "text", Hardware: "RTX 2080 Ti", Remark: "about"},
	}
}

// speedRows measures every algorithm at each size, C with each number of blocks a line that the
// paper tried.
func speedRows(ctx context.Context, r *run, e *experiment) error {
	sides := []int{256, 512, 1024, 2048}
	if r.o.Quick {
		sides = []int{512, 2048}
	}
	all, err := r.recursive()
	if err != nil {
		return err
	}
	for _, sigma := range ferreiraSigmas {
		for _, side := range sides {
			size := Size{Width: side, Height: side}
			if err := r.recursiveCPU(ctx, e, size, recursiveParams(sigma)); err != nil {
				return err
			}
			for _, c := range all {
				if err := r.recursiveGPU(ctx, e, c, size, recursiveParams(sigma)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// recursive returns the recursive kernels that run here, the program's own last.
func (r *run) recursive() (all []contender, err error) {
	for _, c := range contenders("002") {
		switch {
		case c.gpu == nil || !r.runs(c):
		case c.Approximation.Algorithm == papers.AlgorithmC:
			for _, blocks := range []int{2, 4, 6} {
				all = append(all, c.approximate(func(a *papers.Approximation) { a.Blocks = blocks }))
			}
		default:
			all = append(all, c)
		}
	}
	own, err := r.own(recursiveParams(ferreiraSigmas[0]))
	if errors.Is(err, kernels.ErrNoKernel) {
		return all, nil
	}
	return append(all, own), err
}

// approximate returns the contender with another approximation. The kernel is the same.
func (c contender) approximate(change func(*papers.Approximation)) contender {
	change(&c.Approximation)
	v := papers.WithApproximation(*c.gpu, c.Approximation)
	c.gpu = &v
	return c
}

func (r *run) recursiveGPU(ctx context.Context, e *experiment, c contender, size Size, p kernels.Recursive) error {
	row, err := r.measure(ctx, c, size, p, 0, false)
	if err != nil {
		return err
	}
	row.describe(c.Approximation)
	if row.Floor, err = r.floor(ctx, row.Size); err != nil {
		return err
	}
	if !c.own && p.SigmaS == ferreiraSigmas[0][0] && row.Blocks == paperBlocks {
		row.Paper = r.published(e, row.Version, size, 0, 0)
	}
	e.Rows = append(e.Rows, row)
	return nil
}

// floor returns the milliseconds to read and write a picture at 4 bytes a pixel.
func (r *run) floor(ctx context.Context, s Size) (float64, error) {
	if r.copyRate == 0 {
		size := 256 << 20
		if r.o.Shrink > 1 {
			size = 1 << 20
		}
		var err error
		if r.copyRate, err = measure.CopyRate(ctx, r.GPU, size, r.repeat()); err != nil {
			return 0, err
		}
	}
	return float64(2*4*s.Width*s.Height) / (r.copyRate * 1e6), nil
}

// paperBlocks picks the row beside the paper's figure: the paper gained most from C with 6 blocks
// a stripe.
const paperBlocks = 6

func (row *Row) describe(a papers.Approximation) {
	if a.Algorithm != papers.AlgorithmA {
		row.Kappa = &a.Kappa
	}
	row.Blocks = a.Blocks
}

// recursiveCPU measures this program's filter on all cores.
func (r *run) recursiveCPU(ctx context.Context, e *experiment, size Size, p kernels.Recursive) error {
	if r.o.Kernel != "" {
		return nil
	}
	small := r.size(size)
	row := Row{Where: "cpu", Version: versionCPU, Title: "this program", Name: r.CPU.Name(), Size: small, SigmaS: p.SigmaS, SigmaR: p.SigmaR, Part: 1}
	var err error
	if row.Check, err = r.checkCPU(ctx, p); err != nil {
		return err
	}
	src, err := r.picture(small)
	if err != nil {
		return err
	}
	r.say("%s: %s, %s", row.Name, options(p), src.Format)
	if row.Time, err = measure.FilterTime(ctx, r.CPU, p, r.repeat(), src); err != nil {
		return err
	}
	if p.SigmaS == ferreiraSigmas[0][0] {
		row.Paper = r.published(e, row.Version, size, 0, 0)
	}
	e.Rows = append(e.Rows, row)
	return nil
}

// checkCPU compares the program's CPU filter with the reference.
func (r *run) checkCPU(ctx context.Context, p kernels.Recursive) (measure.Check, error) {
	a, err := r.answer(fmt.Sprintf("%+v", p), func(dst, src *pipeline.Frame) error { return kernels.Reference(dst, src, p) })
	if err != nil {
		return measure.Check{}, err
	}
	what := fmt.Sprintf("%s with %s", r.CPU.Name(), options(p))
	return measure.Verify(a.src, a.want, bound, what, false, func(dst, src *pipeline.Frame) error {
		return measure.FilterOnce(ctx, r.CPU, p, dst, src)
	})
}

// qualityRows measures the error of C and D against A by kappa.
func qualityRows(ctx context.Context, r *run, e *experiment) error {
	kappas := []float64{0, 0.5, 1, 1.5, 2, 2.5, 3}
	if r.o.Quick {
		kappas = []float64{0, 0.5, 1, 2}
	}
	src, err := r.picture(r.size(sizeSmall))
	if err != nil {
		return err
	}
	var kept []contender
	for _, c := range contenders("002") {
		if c.gpu != nil && c.Approximation.Algorithm != papers.AlgorithmA && r.runs(c) {
			kept = append(kept, c)
		}
	}
	for _, sigma := range ferreiraSigmas {
		p := recursiveParams(sigma)
		if r.GPU == nil {
			err = r.referenceQuality(ctx, e, p, src, kappas)
		} else {
			err = r.kernelQuality(ctx, e, kept, p, src, kappas)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kernelQuality measures the error of the kernels, and times them.
func (r *run) kernelQuality(ctx context.Context, e *experiment, all []contender, p kernels.Recursive, src *pipeline.Frame, kappas []float64) error {
	if len(all) == 0 {
		return nil
	}
	exact, err := r.exact(ctx, p, src)
	if err != nil {
		return err
	}
	for _, c := range all {
		for _, kappa := range kappas {
			c := c.approximate(func(a *papers.Approximation) { a.Kappa = kappa })
			row, err := r.measure(ctx, c, sizeSmall, p, 0, false)
			if err != nil {
				return err
			}
			row.describe(c.Approximation)
			got := pipeline.Blank(src.Format)
			if err := r.filter(ctx, c, p, got, src); err != nil {
				return err
			}
			mse := squareError(got, exact)
			row.MSE = &mse
			e.Rows = append(e.Rows, row)
		}
	}
	return nil
}

// exact returns the result of algorithm A.
func (r *run) exact(ctx context.Context, p kernels.Recursive, src *pipeline.Frame) (*pipeline.Frame, error) {
	dst := pipeline.Blank(src.Format)
	return dst, measure.FilterOnce(ctx, r.CPU, p, dst, src)
}

// referenceQuality measures the error of the Go reference, on all cores.
func (r *run) referenceQuality(ctx context.Context, e *experiment, p kernels.Recursive, src *pipeline.Frame, kappas []float64) error {
	if r.o.Kernel != "" {
		return nil
	}
	exact, err := r.exact(ctx, p, src)
	if err != nil {
		return err
	}
	var approximations []papers.Approximation
	for _, kappa := range kappas {
		approximations = append(approximations, papers.Approximation{Algorithm: papers.AlgorithmC, Kappa: kappa, Blocks: 4},
			papers.Approximation{Algorithm: papers.AlgorithmD, Kappa: kappa, Block: 24})
	}
	slices.SortStableFunc(approximations, func(a, b papers.Approximation) int { return int(a.Algorithm) - int(b.Algorithm) })
	rows := make([]Row, len(approximations))
	errs := make([]error, len(rows))
	turns := make(chan struct{}, r.threads())
	var all sync.WaitGroup
	for i, a := range approximations {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			rows[i] = Row{Where: "cpu", Version: a.Algorithm.String(), Title: "Go reference", Name: "reference", Size: Size{Width: src.Width, Height: src.Height},
				SigmaS: p.SigmaS, SigmaR: p.SigmaR, Part: 1}
			rows[i].describe(a)
			if errs[i] = context.Cause(ctx); errs[i] != nil {
				return
			}
			got := pipeline.Blank(src.Format)
			errs[i] = papers.RecursiveApprox(got, src, p, a)
			mse := squareError(got, exact)
			rows[i].MSE = &mse
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	e.Rows = append(e.Rows, rows...)
	return nil
}

// squareError is the mean squared difference of R, G and B in levels.
func squareError(a, b *pipeline.Frame) float64 {
	sum := 0.0
	for y := range a.Height {
		p, q := a.Row(0, y), b.Row(0, y)
		for x := range p {
			if x%4 < 3 {
				d := float64(p[x]) - float64(q[x])
				sum += d * d
			}
		}
	}
	return sum / float64(3*a.Width*a.Height)
}
