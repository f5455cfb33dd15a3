package pipeline

import "fmt"

// Layout is the arrangement of samples in a frame, named as FFmpeg names it (8 bits a sample).
type Layout uint8

// The layouts that filters take as they are. Everything else is converted to one of them on decode.
const (
	YUV420P Layout = iota + 1 // Y, U, V; chroma halved both ways
	YUV422P                   // Y, U, V; chroma halved across
	YUV444P                   // Y, U, V; chroma whole
	NV12                      // Y, then U and V interleaved; chroma halved both ways
	RGBA                      // one packed plane, R in the lowest byte of each 32-bit word
)

var layouts = [...]struct {
	name       string
	planes     int
	subX, subY int // log2 of the chroma subsampling
}{
	YUV420P: {"yuv420p", 3, 1, 1},
	YUV422P: {"yuv422p", 3, 1, 0},
	YUV444P: {"yuv444p", 3, 0, 0},
	NV12:    {"nv12", 2, 1, 1},
	RGBA:    {"rgba", 1, 0, 0},
}

func (l Layout) String() string {
	if l == 0 || int(l) >= len(layouts) {
		return fmt.Sprintf("layout(%d)", uint8(l))
	}
	return layouts[l].name
}

// Matrix is the YUV-to-RGB matrix of a frame. The zero value is not resolved yet.
type Matrix uint8

// The matrices that the filter knows.
const (
	BT601 Matrix = iota + 1
	BT709
	BT2020 // non-constant luminance
)

func (m Matrix) String() string {
	switch m {
	case BT601:
		return "bt601"
	case BT709:
		return "bt709"
	case BT2020:
		return "bt2020nc"
	}
	return fmt.Sprintf("matrix(%d)", uint8(m))
}

// Format is all that a filter must know of a frame's samples. Formats are comparable with ==. The methods
// that ask for planes panic on a layout that is none of the above; the zero Layout has no planes.
type Format struct {
	Layout        Layout
	Width, Height int    // luma samples
	Matrix        Matrix // ignored for RGBA
	FullRange     bool   // 0-255 rather than 16-235/240; ignored for RGBA
}

func (f Format) String() string {
	return fmt.Sprintf("%s %dx%d", f.Layout, f.Width, f.Height)
}

// NumPlanes returns how many of Frame.Planes are used.
func (f Format) NumPlanes() int { return layouts[f.Layout].planes }

// ChromaShift returns log2 of the chroma subsampling across and down.
func (f Format) ChromaShift() (x, y int) { return layouts[f.Layout].subX, layouts[f.Layout].subY }

// PlaneSize returns the width in bytes and the height in rows of plane i. Odd sizes round chroma up.
func (f Format) PlaneSize(i int) (widthBytes, rows int) {
	l := layouts[f.Layout]
	switch {
	case f.Layout == RGBA:
		return 4 * f.Width, f.Height
	case i == 0:
		return f.Width, f.Height
	}
	w, h := ceilShift(f.Width, l.subX), ceilShift(f.Height, l.subY)
	if f.Layout == NV12 {
		w *= 2
	}
	return w, h
}

func ceilShift(n, shift int) int { return (n + 1<<shift - 1) >> shift }

// PitchAlign is the alignment in bytes of every plane and row that this package lays out: a cache line,
// which is also the widest SIMD register.
const PitchAlign = 64

// PlanLayout returns where the planes of a frame lie in one buffer: offset and pitch in bytes for each,
// and the size of the whole. extra is how many bytes may be touched past the end of each plane.
func (f Format) PlanLayout(extra int) (offsets, pitches [4]int, size int) {
	for i := range f.NumPlanes() {
		w, h := f.PlaneSize(i)
		offsets[i] = size
		pitches[i] = (w + PitchAlign - 1) / PitchAlign * PitchAlign
		size += pitches[i]*h + extra
		size = (size + PitchAlign - 1) / PitchAlign * PitchAlign
	}
	return offsets, pitches, size
}
