package kernels

// #include "cuda/args.h"
import "C"

import (
	"math"
	"unsafe"

	"vidfilter/pipeline"
)

// recursiveForm is the recursive filter as a scan: cuda/recursive_fast.cu. Between passes a pixel
// takes 8 bytes of scratch memory.
var recursiveForm = &Form{Name: "recursive_fast", Filter: recursiveFilter, Variants: recursiveVariants, Priority: always(10), Work: WorkOf(recursiveWork)}

const (
	stepsOfLevel = 224 // of a pixel between passes, as in cuda/recursion.h
	scanRun      = 16  // pixels per thread; this and the following as in cuda/recursive_fast.cu
	scanLines    = 2   // per block
	scanThreads  = 512 // per block at most; a multiprocessor's registers hold no more either
	scanGroup    = 16  // runs
	scanPlaces   = 15  // for the maps of a run
	packWidth    = 4   // pixels per thread of the launch that makes planes
	packHeight   = 4
	scanRecord   = 128 // bytes

	reservedShared = 1 << 10 // bytes that the system adds to each block
)

// recursiveVariants differ in the instructions that copy into shared memory.
func recursiveVariants() (all []Variant) {
	for _, device := range []struct {
		name    string
		compute int
	}{{"recursive_fast", 90}, {"recursive_fast_sm80", 80}, {"recursive_fast_sm61", 61}} {
		v := Variant{
			Name: device.name, Compute: device.compute,
			Threads: [2]int{scanThreads, 1}, Defines: []string{Define("THREADS", scanThreads), Define("BLOCKS", 1)},
		}
		all = append(all, v, v.deeper(9, 16))
		if device.compute == 61 {
			all = append(all, v.planarRGB(), v.deeper(9, 16).planarRGB())
		}
	}
	return all
}

// cut divides a line into pieces of the given number of runs. threads and shared are a block's.
type cut struct{ pieces, runs, threads, shared int }

// cutLine cuts a line so that each piece fits the shared memory of a block.
func cutLine(length int, l Limits) cut {
	all, most := Blocks(length, scanRun), scanThreads/scanLines
	for cutInto(most).shared > l.SharedBlock {
		most--
	}
	c := cutInto(Blocks(all, Blocks(all, most)))
	c.pieces = Blocks(all, c.runs)
	return c
}

// cutInto returns a block's threads and shared memory for pieces of the given number of runs.
func cutInto(runs int) cut {
	c := cut{runs: runs, threads: Blocks(scanLines*runs, 32) * 32}
	groups := Blocks(runs, scanGroup)
	pixels, maps := scanLines*(1+runs*(scanRun+1)), scanLines*scanPlaces*(runs+groups)
	c.shared = 8 * (2*max(pixels, maps) + scanLines*runs*(scanRun+1) + scanLines*scanPlaces*groups)
	return c
}

// residents is the number of blocks of a cut that run on a device at a time. Each filters several
// pairs of lines and loads the next pair while it filters one.
func (c cut) residents(l Limits) int {
	return l.Multiprocessors * max(1, min(l.SharedMultiprocessor/(c.shared+reservedShared), scanThreads/c.threads))
}

// share is the number of blocks among which the pairs of lines are divided. Resident blocks wait
// at the end for those with one pair more; where that would cost a fifth of the time, one pair per
// block is faster, since the device starts blocks as others end.
func (c cut) share(pairs int, l Limits) int {
	staying := min(pairs, Blocks(c.residents(l), c.pieces))
	if rounds := Blocks(pairs, staying); 5*rounds*staying > 6*pairs {
		return pairs
	}
	return staying
}

func squaresSize(width, height int) int { return 32 * Blocks(width, 2) * Blocks(height, 2) }

// recursiveScratch is the size of the pixels, in squares of 2 x 2, and of the records of pieces.
func recursiveScratch(f pipeline.Format, l Limits) int {
	records := max(cutLine(f.Width, l).pieces*Blocks(f.Height, scanLines), cutLine(f.Height, l).pieces*Blocks(f.Width, scanLines))
	return squaresSize(f.Width, f.Height) + scanRecord*scanLines*records
}

// recursiveLaunch is a launch before its frame is known.
type recursiveLaunch struct {
	grid, block [2]int
	shared      int
	recursion   C.vf_recursion
}

func recursiveWork(v Variant, p Recursive, f pipeline.Format, l Limits) (Work, error) {
	frame, err := frameArgs(Bilateral{Border: Clamp}, f) // no window; beyond its ends a line keeps its last colour
	if err != nil {
		return Work{}, err
	}
	return Work{
		Scratch: recursiveScratch(f, l),
		Launches: func(field Field, m DeviceMemory) (all []Launch) {
			for _, pass := range recursivePasses(p, field.Width, field.Height, l) {
				args := &C.vf_recursive_args{frame: *frame, recursion: pass.recursion, scratch: C.uint64_t(m.Scratch)}
				place(&args.frame, f, field)
				all = append(all, Launch{Grid: pass.grid, Block: pass.block, Shared: pass.shared, Args: unsafe.Pointer(args), ArgsSize: unsafe.Sizeof(*args)})
			}
			return all
		},
	}, nil
}

// recursivePasses returns one launch for each pass, or two if its lines are cut, and a last one
// that makes planes of the result.
func recursivePasses(p Recursive, width, height int, l Limits) (all []recursiveLaunch) {
	rows, columns := cutLine(width, l), cutLine(height, l)
	for i, r := range p.Recursions() {
		c := r.forDevice()
		c.records = C.uint64_t(squaresSize(width, height))
		if i == 0 {
			c.first = 1
		}
		all = append(all, linePass(c, height, rows, l)...)
		c.first, c.vertical = 0, 1
		if i == p.Iterations-1 {
			c.last = 1
		}
		all = append(all, linePass(c, width, columns, l)...)
	}
	return append(all, recursiveLaunch{
		grid:  [2]int{Blocks(width, packWidth*scanThreads), Blocks(height, packHeight)},
		block: [2]int{scanThreads, 1}, recursion: C.vf_recursion{phase: C.VF_PACK},
	})
}

// linePass returns the launches that filter the given number of lines.
func linePass(c C.vf_recursion, lines int, line cut, l Limits) []recursiveLaunch {
	pairs := Blocks(lines, scanLines)
	share := line.share(pairs, l)
	c.runs, c.threads, c.pieces = C.int32_t(line.runs), C.int32_t(line.threads), C.int32_t(line.pieces)
	c.pairs, c.blocks = C.int32_t(pairs), C.int32_t(share)
	whole := recursiveLaunch{grid: [2]int{share, line.pieces}, block: [2]int{line.threads, 1}, shared: line.shared, recursion: c}
	if line.pieces == 1 {
		return []recursiveLaunch{whole}
	}
	maps := whole
	maps.recursion.phase = C.VF_PIECES
	return []recursiveLaunch{maps, whole}
}

func (r Recursion) forDevice() C.vf_recursion {
	// Beyond far, b^D is below e^-103, which is 0 in float32.
	c := C.vf_recursion{slope: C.float(r.Slope) / (stepsOfLevel * stepsOfLevel), far: C.float(60 * r.Sigma)}
	for i := range r.B {
		c.drive[i] = C.vf_complex{C.float(real(r.Drive[i])), C.float(imag(r.Drive[i]))}
		c.rate[i] = C.vf_complex{C.float(real(r.Rate[i]) * math.Log2E), C.float(imag(r.Rate[i]))}
	}
	return c
}
