package device

// #include "cuda/denoise_args.h"
import "C"

import (
	"unsafe"

	"vidfilter/kernels"
)

// Samples are a plane of a frame or a field in the device's memory: a sample each Step bytes.
type Samples struct {
	Addr        uint64
	Pitch, Step int // bytes
	Size
}

func (s Samples) forDevice() C.vd_samples {
	return C.vd_samples{
		at: C.uint64_t(s.Addr), pitch: C.int32_t(s.Pitch), step: C.int32_t(s.Step),
		width: C.int32_t(s.Width), height: C.int32_t(s.Height),
	}
}

// Prepare returns the runs that make the planes of a picture of a frame's samples.
func (l *Layout) Prepare(picture uint64, from [3]Samples) []Run {
	a := l.args
	a.centre = C.uint64_t(picture)
	for i, s := range from {
		a.source[i] = s.forDevice()
	}
	return []Run{planesRun("denoise_planes", &a, sizes(a.noisy[:]))}
}

// Smooth returns the runs that make the planes that the search reads.
func (l *Layout) Smooth(picture uint64, coarse bool) (all []Run) {
	a := l.args
	a.centre = C.uint64_t(picture)
	if coarse {
		a.coarse = 1
	}
	smoothed := a
	all = append(all, planesRun("denoise_smooth", &smoothed, sizes(a.level[:1])))
	for level := 0; level < int(a.levels)-1; level += levelsAtOnce {
		here := a
		here.level_now = C.int32_t(level)
		all = append(all, pyramidRun(&here))
	}
	return append(all, rimRun(&a))
}

// As in cuda/denoise_rim.cu.
const rimBlocks, rimThreads = 64, 256

// rimRun is for the four phases of the first level, and the others.
func rimRun(a *C.vd_args) Run {
	a.count = rimBlocks
	return run("denoise_rim", a, [2]int{rimBlocks, int(a.levels) + 3}, rimThreads, 0)
}

func sizes(planes []C.vd_plane) (all []Size) {
	for _, p := range planes {
		all = append(all, Size{int(p.width), int(p.height)})
	}
	return all
}

// As in cuda/denoise_planes.cu.
const (
	planesWidth, planesHeight   = 64, 32
	planesThreads               = 256
	planesRows, planesSide      = planesHeight + 7, planesWidth + 8
	planesWide                  = planesSide + 4
	pyramidSide, pyramidThreads = 64, 256 // as in cuda/denoise_pyramid.cu
	levelsAtOnce                = 6
)

func bytesOf(a *C.vd_args) int { return sampleBytes(int(a.depth)) }

func planesRun(name string, a *C.vd_args, planes []Size) Run {
	read := bytesOf(a)
	made := read
	if name == "denoise_smooth" {
		made = 1
	}
	shared := planesRows*planesSide*made + max(planesRows*planesWidth*made, (planesRows+2)*planesWide*read)
	return tiled(name, a, planes, planesWidth, planesHeight, planesThreads, roundUp(shared, 16))
}

func pyramidRun(a *C.vd_args) Run {
	return tiled("denoise_pyramid", a, sizes(a.level[a.level_now:][:1]), pyramidSide, pyramidSide, pyramidThreads, pyramidSide*pyramidSide*5/4)
}

// tiled is a run whose blocks each take a number of samples of a plane across and down.
func tiled(name string, a *C.vd_args, planes []Size, across, down, threads, shared int) Run {
	n := 0
	for i := range a.begin {
		a.begin[i] = C.int32_t(n)
		if i < len(planes) {
			columns := kernels.Blocks(planes[i].Width, across)
			a.across[i] = C.int32_t(columns)
			n += columns * kernels.Blocks(planes[i].Height, down)
		}
	}
	for i := len(planes); i < len(a.begin); i++ {
		a.begin[i] = C.int32_t(n)
	}
	return run(name, a, [2]int{n, 1}, threads, shared)
}

// run is a run with the arguments as they are now.
func run(name string, a *C.vd_args, grid [2]int, threads, shared int) Run {
	own := *a
	return Run{named(name, int(a.depth)), kernels.Launch{
		Grid: grid, Block: [2]int{threads, 1}, Shared: shared,
		Args: unsafe.Pointer(&own), ArgsSize: unsafe.Sizeof(own),
	}}
}
