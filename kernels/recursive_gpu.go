package kernels

// #include "cuda/args.h"
import "C"

import (
	"fmt"
	"math"
	"math/cmplx"

	"vidfilter/pipeline"
)

// The recursive filter on a GPU: the authors' algorithms (cuda/recursive.cu) and a scan, which the filter runs (cuda/recursive_fast.cu).
// Between passes a pixel has 8 bytes of the scratch memory.

var recursiveForm = labForm{form: RecursiveLab, list: recursiveVariants, passes: recursivePasses, scratch: recursiveScratch}

// The stripes and windows of 002, section V.B.
const (
	stripeLines = 128
	windowWidth = 24
	windowPad   = 5
)

// recursiveVariants lists algorithms A, C and D, with the kappa that the paper recommends.
func recursiveVariants() (list []Variant) {
	for _, a := range []Approximation{
		{Algorithm: AlgorithmA}, {Algorithm: AlgorithmC, Kappa: 2, Blocks: 4}, {Algorithm: AlgorithmD, Kappa: 2, Block: windowWidth},
	} {
		title := map[Algorithm]string{AlgorithmA: "stripes", AlgorithmC: "stripes in blocks", AlgorithmD: "every window a block"}[a.Algorithm]
		list = append(list, Variant{
			Name: fmt.Sprintf("recursive_%c", a.Algorithm.String()[0]|0x20), Form: RecursiveLab, Filter: Recursive, Compute: 61,
			Paper: "002", Version: a.Algorithm.String(), Title: title, Approximation: a,
			threads: [2]int{stripeLines, 1}, flags: []string{define("ALGORITHM", int(a.Algorithm))},
		})
	}
	return list
}

func recursiveScratch(_ Variant, _ Params, f pipeline.Format) int { return 3 * 8 * f.Width * f.Height }

// recursivePasses returns, for each pass, the launch of both directions and their sum.
func recursivePasses(v Variant, p Params, width, height int) (all []pass) {
	for _, c := range recursionsOf(p) {
		c.reach = C.float(v.Approximation.Kappa * p.SigmaS)
		lines, length, shared := height, width, 8*stripeLines*(windowWidth+windowPad)
		if c.vertical != 0 {
			lines, length, shared = width, height, 8*stripeLines*windowWidth
		}
		cuts := v.Approximation.blocks(length)
		c.domain, c.domains = C.int32_t(cuts[1]), C.int32_t(len(cuts)-1)
		sum := *c
		sum.phase = C.VF_SUM
		all = append(all,
			pass{grid: [2]int{blocks(lines, stripeLines), 2 * (len(cuts) - 1)}, block: v.threads, shared: shared, recursion: c},
			pass{grid: [2]int{blocks(width, stripeLines), height}, block: v.threads, recursion: &sum})
	}
	return all
}

// recursionsOf returns the constants of each pass, rows and columns by turns.
func recursionsOf(p Params) (all []*C.vf_recursion) {
	for i, sigma := range p.sigmas() {
		for vertical := range 2 {
			c := newRecursion(p, sigma).forDevice(sigma)
			c.vertical = C.int32_t(vertical)
			if i == 0 && vertical == 0 {
				c.first = 1
			}
			if i == p.Iterations-1 && vertical == 1 {
				c.last = 1
			}
			all = append(all, c)
		}
	}
	return all
}

func (r recursion) forDevice(sigma float64) *C.vf_recursion {
	c := &C.vf_recursion{slope: C.float(r.slope), far: C.float(60 * sigma)} // e^-103 is 0 in float32
	for i := range r.b {
		c.a[i], c.b[i], c.drive[i] = complexForDevice(r.a[i]), complexForDevice(r.b[i]), complexForDevice(r.drive[i])
		c.r1[i] = complexForDevice(r.a[i] / (r.b[i] - 1))
		c.radius[i], c.angle[i] = C.float(cmplx.Abs(r.b[i])), C.float(imag(r.rate[i]))
		c.rate[i] = complexForDevice(complex(real(r.rate[i])*math.Log2E, imag(r.rate[i])))
	}
	return c
}

func complexForDevice(z complex128) C.vf_complex {
	return C.vf_complex{C.float(real(z)), C.float(imag(z))}
}

// The scan.

var recursiveFastForm = labForm{form: RecursiveFast, list: recursiveFastVariants, passes: recursiveFastPasses, scratch: recursiveFastScratch}

const (
	stepsOfLevel = 224 // of a pixel between passes, as in cuda/recursion.h
	scanLines    = 2   // of a block; as in cuda/recursive_fast.cu, like those that follow
	scanGroup    = 16  // runs
	scanPlaces   = 15  // of a run's maps
	scanRecord   = 128 // bytes
)

// recursiveFastVariants lists one for each amount of shared memory that a block may have, of which Choose takes the first that a device
// runs, and behind them others that are there to be measured.
func recursiveFastVariants() []Variant {
	return []Variant{
		recursiveFastVariant("recursive_fast", 90, 16, 1, 512),
		recursiveFastVariant("recursive_fast_sm80", 80, 16, 1, 512),
		recursiveFastVariant("recursive_fast_sm61", 61, 16, 1, 512),
		recursiveFastVariant("recursive_fast_run8", 90, 8, 2, 512),
		recursiveFastVariant("recursive_fast_run12", 90, 12, 1, 544),
	}
}

// recursiveFastVariant has runs of so many pixels and keeps the powers of 0, 1 or both poles in registers, else in shared memory.
func recursiveFastVariant(name string, compute, run, kept, threads int) Variant {
	return Variant{
		Name: name, Form: RecursiveFast, Filter: Recursive, Compute: compute,
		width: run, height: kept, threads: [2]int{threads, 1},
		flags: []string{define("RUN", run), define("KEPT", kept), define("THREADS", threads), define("BLOCKS", 1)},
	}
}

// cut is how a line is cut: pieces of so many runs.
type cut struct{ pieces, runs, threads, shared int }

func (v Variant) cutLine(length int) cut {
	run, limit := v.width, map[int]int{61: 48 << 10, 80: 99 << 10, 90: 227 << 10}[v.Compute]
	all, most := blocks(length, run), v.threads[0]/scanLines
	for v.cutInto(most).shared > limit {
		most--
	}
	c := v.cutInto(blocks(all, blocks(all, most)))
	c.pieces = blocks(all, c.runs)
	return c
}

// cutInto returns what a block of pieces of so many runs needs.
func (v Variant) cutInto(runs int) cut {
	run, kept := v.width, v.height
	c := cut{runs: runs, threads: blocks(scanLines*runs, 32) * 32}
	groups := blocks(runs, scanGroup)
	c.shared = 8 * scanLines * (1 + runs*(run+1) + scanPlaces*(runs+2*groups))
	c.shared += 8 * ((2-kept)*run + 1) * c.threads
	return c
}

// recursiveFastScratch is for the pixels, in squares of 2 x 2, and the records of pieces.
func recursiveFastScratch(v Variant, _ Params, f pipeline.Format) int {
	records := max(v.cutLine(f.Width).pieces*blocks(f.Height, scanLines), v.cutLine(f.Height).pieces*blocks(f.Width, scanLines))
	return squaresSize(f.Width, f.Height) + scanRecord*scanLines*records
}

func squaresSize(width, height int) int { return 32 * blocks(width, 2) * blocks(height, 2) }

// recursiveFastPasses returns a launch for each pass, or two where its lines are cut.
func recursiveFastPasses(v Variant, p Params, width, height int) (all []pass) {
	records := uint64(squaresSize(width, height))
	for _, c := range recursionsOf(p) {
		c.slope /= stepsOfLevel * stepsOfLevel
		lines, line := height, v.cutLine(width)
		if c.vertical != 0 {
			lines, line = width, v.cutLine(height)
		}
		c.runs, c.threads, c.pieces = C.int32_t(line.runs), C.int32_t(line.threads), C.int32_t(line.pieces)
		c.records = [2]C.uint32_t{C.uint32_t(records), C.uint32_t(records >> 32)}
		whole := pass{grid: [2]int{blocks(lines, scanLines), line.pieces}, block: [2]int{line.threads, 1}, shared: line.shared, recursion: c}
		if line.pieces > 1 {
			maps, before := whole, *c
			before.phase = C.VF_PIECES
			maps.recursion = &before
			all = append(all, maps)
		}
		all = append(all, whole)
	}
	return all
}
