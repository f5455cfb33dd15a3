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
	scanRun      = 16  // pixels of a thread; as in cuda/recursive_fast.cu, like those that follow
	scanLines    = 2   // of a block
	scanThreads  = 512 // of a block at most
	scanGroup    = 16  // runs
	scanPlaces   = 15  // of a run's maps
	packWidth    = 4   // pixels of a thread that makes planes
	packHeight   = 4
	scanRecord   = 128 // bytes
)

// recursiveFastVariants lists one for each amount of shared memory that a block may have, of which Choose takes the first that a device
// runs.
func recursiveFastVariants() (all []Variant) {
	for _, device := range []struct {
		name    string
		compute int
	}{{"recursive_fast", 90}, {"recursive_fast_sm80", 80}, {"recursive_fast_sm61", 61}} {
		all = append(all, Variant{
			Name: device.name, Form: RecursiveFast, Filter: Recursive, Compute: device.compute,
			threads: [2]int{scanThreads, 1}, flags: []string{define("THREADS", scanThreads), define("BLOCKS", 1)},
		})
	}
	return all
}

// cut is how a line is cut: pieces of so many runs.
type cut struct{ pieces, runs, threads, shared int }

func (v Variant) cutLine(length int) cut {
	limit := map[int]int{61: 48 << 10, 80: 99 << 10, 90: 227 << 10}[v.Compute]
	all, most := blocks(length, scanRun), scanThreads/scanLines
	for cutInto(most).shared > limit {
		most--
	}
	c := cutInto(blocks(all, blocks(all, most)))
	c.pieces = blocks(all, c.runs)
	return c
}

// cutInto returns what a block of pieces of so many runs needs.
func cutInto(runs int) cut {
	c := cut{runs: runs, threads: blocks(scanLines*runs, 32) * 32}
	groups := blocks(runs, scanGroup)
	pixels, maps := scanLines*(1+runs*(scanRun+1)), scanLines*scanPlaces*(runs+groups)
	c.shared = 8 * (2*max(pixels, maps) + scanLines*runs*(scanRun+1) + scanLines*scanPlaces*groups)
	return c
}

// recursiveFastScratch is for the pixels, in squares of 2 x 2, and the records of pieces.
func recursiveFastScratch(v Variant, _ Params, f pipeline.Format) int {
	records := max(v.cutLine(f.Width).pieces*blocks(f.Height, scanLines), v.cutLine(f.Height).pieces*blocks(f.Width, scanLines))
	return squaresSize(f.Width, f.Height) + scanRecord*scanLines*records
}

func squaresSize(width, height int) int { return 32 * blocks(width, 2) * blocks(height, 2) }

// residents is how many blocks of a cut an H200 runs at a time: each filters several pairs of lines, and loads the next while it filters one.
func (c cut) residents() int {
	const multiprocessors, shared, threads = 132, 227 << 10, 512
	return multiprocessors * max(1, min(shared/(c.shared+1<<10), threads/c.threads))
}

// share is how many blocks share the pairs of lines. Blocks that stay wait at the end for those with a pair more; where that is a fifth of the
// time they do better with a pair each, which the device hands out as others end.
func (c cut) share(pairs int) int {
	staying := min(pairs, blocks(c.residents(), c.pieces))
	if rounds := blocks(pairs, staying); 5*rounds*staying > 6*pairs {
		return pairs
	}
	return staying
}

// recursiveFastPasses returns a launch for each pass, or two where its lines are cut, and one that makes planes of the last one's result.
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
		pairs := blocks(lines, scanLines)
		share := line.share(pairs)
		c.pairs, c.blocks = C.int32_t(pairs), C.int32_t(share)
		whole := pass{grid: [2]int{share, line.pieces}, block: [2]int{line.threads, 1}, shared: line.shared, recursion: c}
		if line.pieces > 1 {
			maps, before := whole, *c
			before.phase = C.VF_PIECES
			maps.recursion = &before
			all = append(all, maps)
		}
		all = append(all, whole)
	}
	all = append(all, pass{
		grid: [2]int{blocks(width, packWidth*scanThreads), blocks(height, packHeight)}, block: v.threads, recursion: &C.vf_recursion{phase: C.VF_PACK},
	})
	return all
}
