package device

// #include "cuda/denoise_args.h"
import "C"

import (
	"fmt"

	"vidfilter/denoise/motion"
	"vidfilter/kernels"
)

// Size is the size of a plane, in samples.
type Size struct{ Width, Height int }

// Shape has the properties that pictures share to be denoised together.
type Shape struct {
	Planes         [3]Size // chroma of gray is empty
	ShiftX, ShiftY int     // log2 of the chroma subsampling
	Depth          int     // bits of a sample, in a byte or two
	Shift          int     // of a sample in the two bytes of a frame's
	Searched       bool    // pictures are only searched, not denoised
}

// Layout is where the planes of pictures of one shape lie in their memory, and all else in the
// memory that one picture after another is denoised with.
type Layout struct {
	Shape   Shape
	Picture int // bytes of memory for each picture
	Work    int // bytes of memory for the work, for which Clear comes first
	Sum     int // bytes of memory for a sum of pictures
	args    C.vd_args
	work    workPlaces
	half    *halfPlaces // of pictures of half the size
	sum     [3]int      // offsets in the memory of a sum
}

// workPlaces are offsets in the memory for the work.
type workPlaces struct {
	sums, pilot                               [3]int
	pilotLuma, vectors, found, refined, gates int
}

const (
	largestPatch = 16  // planes are enlarged to it
	align        = 256 // of planes, in bytes
	atOnce       = 4   // samples are stored at a time
	spare        = 64  // bytes beyond the last plane that may be read
	pilotBits    = 4   // that the pilot has more than the samples
	bytesPerCell = 4   // of a vector
	bytesOfSum   = 8
)

// NewLayout plans the memory for pictures of a shape.
func NewLayout(s Shape) (*Layout, error) {
	if s.Depth < 8 || s.Depth > 16 {
		return nil, fmt.Errorf("denoise: the kernels are for 8 to 16 bits, not %d", s.Depth)
	}
	l := &Layout{Shape: s}
	a := &l.args
	a.depth, a.pilot_bits = C.int32_t(s.Depth), C.int32_t(min(s.Depth+pilotBits, 16))
	a.shift = C.int32_t(s.Shift)
	a.shift_x, a.shift_y = C.int32_t(s.ShiftX), C.int32_t(s.ShiftY)
	for i, p := range s.Planes {
		if p == (Size{}) {
			continue
		}
		p.Width, p.Height = max(p.Width, largestPatch), max(p.Height, largestPatch)
		a.noisy[i] = l.plane(p, l.bytes(), 4, 0)
	}
	if err := l.levels(); err != nil {
		return nil, err
	}
	l.Picture += spare
	l.planWork()
	return l, nil
}

// planes is the number of planes of a picture.
func (l *Layout) planes() int {
	if l.Shape.Planes[1] == (Size{}) {
		return 1
	}
	return len(l.Shape.Planes)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// plane adds a plane to the picture, with the bytes of a sample, the phases, and the samples around
// it.
func (l *Layout) plane(s Size, bytes, phases, rim int) C.vd_plane {
	pitch := roundUp((s.Width+2*rim+atOnce)*bytes, 64)
	size := roundUp(pitch*(s.Height+2*rim), align)
	p := C.vd_plane{
		offset: C.uint64_t(l.Picture + rim*(pitch+bytes)), phase: C.uint64_t(size), pitch: C.int32_t(pitch),
		width: C.int32_t(s.Width), height: C.int32_t(s.Height),
	}
	l.Picture += phases * size
	return p
}

// bytes is the size of a sample.
func (l *Layout) bytes() int { return sampleBytes(l.Shape.Depth) }

func sampleBytes(depth int) int { return (depth + 7) / 8 }

// levels adds the smoothed luma and the levels above it, in bytes.
func (l *Layout) levels() error {
	a := &l.args
	size := Size{int(a.noisy[0].width), int(a.noisy[0].height)}
	n := motion.Levels(size.Width, size.Height)
	if n > C.VD_LEVELS {
		return fmt.Errorf("denoise: a picture of %dx%d is too large", size.Width, size.Height)
	}
	a.levels = C.int32_t(n)
	first := 0
	for i, phases := 0, 4; i < n; i, phases = i+1, 1 {
		a.level[i] = l.plane(size, 1, phases, C.VD_RIM)
		if i > 0 {
			a.level[i].first_cell = C.int32_t(first)
			first += cells(a.level[i], motion.Cell)
		}
		size = Size{size.Width / 2, size.Height / 2}
	}
	a.vector_stride = C.int64_t(bytesPerCell * first)
	a.found_stride = C.int64_t(bytesPerCell * cells(a.level[0], motion.Cell))
	a.refined_stride = C.int64_t(bytesPerCell * cells(a.level[0], motion.RefinedCell))
	return nil
}

// cells is the number of cells of a plane.
func cells(p C.vd_plane, side int) int {
	return kernels.Blocks(int(p.width), side) * kernels.Blocks(int(p.height), side)
}

// take plans bytes of the memory for the work.
func (l *Layout) take(n int) (at int) {
	at = l.Work
	l.Work += roundUp(n, align)
	return at
}

func (l *Layout) planWork() {
	take := l.take
	a, w := &l.args, &l.work
	w.vectors = take(C.VD_NEIGHBOURS * int(a.vector_stride))
	w.found = take(C.VD_NEIGHBOURS * int(a.found_stride))
	w.refined = take(C.VD_NEIGHBOURS * int(a.refined_stride))
	w.gates = take(8 * C.VD_NEIGHBOURS)
	if l.Shape.Searched {
		return
	}
	for i, p := range a.noisy {
		width, height := int(p.width), int(p.height)
		w.sums[i] = take(bytesOfSum * width * height)
		a.pilot_pitch[i] = C.int32_t(roundUp(2*width+4, 64))
		w.pilot[i] = take(int(a.pilot_pitch[i])*height + spare)
	}
	for i, p := range a.noisy {
		l.sum[i] = l.Sum
		l.Sum += roundUp(int(a.pilot_pitch[i])*int(p.height)+spare, align)
	}
	pitch := int(a.level[0].pitch)
	w.pilotLuma = take(pitch*(int(a.level[0].height)+2*C.VD_RIM)) + C.VD_RIM*(pitch+1)
}

// at sets the addresses of the memory for the work.
func (l *Layout) at(a *C.vd_args, work uint64) {
	place := func(offset int) C.uint64_t { return C.uint64_t(work) + C.uint64_t(offset) }
	w := &l.work
	for i := range w.sums {
		a.sums[i], a.pilot[i] = place(w.sums[i]), place(w.pilot[i])
	}
	a.pilot_luma, a.vectors, a.found, a.refined = place(w.pilotLuma), place(w.vectors), place(w.found), place(w.refined)
	a.gates = place(w.gates)
}

// Found returns where the vectors lie that the search found to the neighbour of a number, in the
// order of the frames, one for each of the cells: two int16 in half-pels. Tests compare them with
// the reference's.
func (l *Layout) Found(work uint64, neighbour int) (address uint64, count int) {
	address = work + uint64(l.work.found) + uint64(neighbour)*uint64(l.args.found_stride)
	return address, cells(l.args.level[0], motion.Cell)
}
