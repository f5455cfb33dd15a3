package papers

// #include "cuda/paper_args.h"
import "C"

import (
	"fmt"
	"math/cmplx"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// recursiveForm is Ferreira et al. (002), algorithms A, C and D: cuda/recursive.cu. Between passes
// a pixel takes 8 bytes of scratch memory.
var recursiveForm = &kernels.Form{
	Name: "recursive", Filter: kernels.Recursive{}.Filter(), Layouts: rgba, Variants: recursiveVariants, Work: kernels.WorkOf(recursiveWork),
}

// The stripes and windows of 002, section V.B.
const (
	stripeLines = 128
	windowWidth = 24
	windowPad   = 5
)

// recursiveVariants lists the algorithms with the paper's recommended kappa.
func recursiveVariants() (list []kernels.Variant) {
	for _, a := range []struct {
		title string
		Approximation
	}{
		{"stripes", Approximation{}},
		{"stripes in blocks", Approximation{Algorithm: AlgorithmC, Kappa: 2, Blocks: 4}},
		{"every window a block", Approximation{Algorithm: AlgorithmD, Kappa: 2, Block: windowWidth}},
	} {
		list = append(list, kernels.Variant{
			Name: fmt.Sprintf("recursive_%c", a.Algorithm.String()[0]|0x20), Compute: 61,
			Threads: [2]int{stripeLines, 1}, Defines: []string{kernels.Define("ALGORITHM", int(a.Algorithm))},
			Details: Details{Paper: "002", Version: a.Algorithm.String(), Title: a.title, Approximation: a.Approximation},
		})
	}
	return list
}

func recursiveWork(v kernels.Variant, p kernels.Recursive, f pipeline.Format, _ kernels.Limits) (kernels.Work, error) {
	return kernels.Work{Scratch: 3 * 8 * f.Width * f.Height, Launches: launches(new(args), func(field kernels.Field) []pass {
		return recursivePasses(v, p, field.Width, field.Height)
	})}, nil
}

// recursivePasses returns, for each pass along rows or columns, the launch for both directions and
// that for their sum.
func recursivePasses(v kernels.Variant, p kernels.Recursive, width, height int) (all []pass) {
	approximation := Of(v).Approximation
	for i, r := range p.Recursions() {
		for vertical := range 2 {
			w := walk(r)
			w.reach = C.float(approximation.Kappa * p.SigmaS)
			w.vertical, w.first, w.last = C.int32_t(vertical), truth(i+vertical == 0), truth(i == p.Iterations-1 && vertical == 1)
			lines, length, shared := height, width, 8*stripeLines*(windowWidth+windowPad)
			if vertical != 0 {
				lines, length, shared = width, height, 8*stripeLines*windowWidth
			}
			cuts := approximation.blocks(length)
			w.domain, w.domains = C.int32_t(cuts[1]), C.int32_t(len(cuts)-1)
			sum := w
			sum.sum = 1
			all = append(all,
				pass{grid: [2]int{kernels.Blocks(lines, stripeLines), 2 * (len(cuts) - 1)}, block: v.Threads, shared: shared,
					set: func(a *args, _ kernels.DeviceMemory) { a.walk = w }},
				pass{grid: [2]int{kernels.Blocks(width, stripeLines), height}, block: v.Threads,
					set: func(a *args, _ kernels.DeviceMemory) { a.walk = sum }})
		}
	}
	return all
}

func truth(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

func walk(r kernels.Recursion) C.walk_args {
	w := C.walk_args{slope: C.float(r.Slope)}
	for i := range r.B {
		w.a[i], w.b[i], w.drive[i], w.r1[i] = complexArg(r.A[i]), complexArg(r.B[i]), complexArg(r.Drive[i]), complexArg(r.A[i]/(r.B[i]-1))
		w.radius[i], w.angle[i] = C.float(cmplx.Abs(r.B[i])), C.float(imag(r.Rate[i]))
	}
	return w
}

func complexArg(z complex128) C.vf_complex { return C.vf_complex{C.float(real(z)), C.float(imag(z))} }
