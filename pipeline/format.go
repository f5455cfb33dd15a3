package pipeline

import "fmt"

//go:generate go run ./mklayouts ..

// Layout is the arrangement of samples in a frame. The zero value is none.
type Layout uint8

// The layouts that filters accept directly. All others are converted to one of them on decode.
const (
	YUV420P Layout = iota + 1
	YUV422P
	YUV444P
	NV12
	RGBA
)

// LayoutInfo describes a layout.
type LayoutInfo struct {
	Name       string // FFmpeg's
	FullRange  string // FFmpeg's older name for the same in full range, "" for none
	Planes     int
	SubX, SubY int  // log2 of the chroma subsampling across and down
	SemiPlanar bool // U and V are interleaved in the second plane
	Samples    int  // of a pixel, side by side in the first plane
	RGB        bool
	Depth      int // bits of a sample
}

// layouts is the table of layouts. C has it as layouts.h, which go generate writes.
var layouts = [...]LayoutInfo{
	YUV420P: {Name: "yuv420p", FullRange: "yuvj420p", Planes: 3, SubX: 1, SubY: 1, Samples: 1, Depth: 8},
	YUV422P: {Name: "yuv422p", FullRange: "yuvj422p", Planes: 3, SubX: 1, Samples: 1, Depth: 8},
	YUV444P: {Name: "yuv444p", FullRange: "yuvj444p", Planes: 3, Samples: 1, Depth: 8},
	NV12:    {Name: "nv12", Planes: 2, SubX: 1, SubY: 1, SemiPlanar: true, Samples: 1, Depth: 8},
	RGBA:    {Name: "rgba", Planes: 1, Samples: 4, RGB: true, Depth: 8}, // R first in memory
}

// Layouts lists all layouts.
func Layouts() (all []Layout) {
	for l := YUV420P; int(l) < len(layouts); l++ {
		all = append(all, l)
	}
	return all
}

// Info returns the layout's row of the table, empty for an invalid layout.
func (l Layout) Info() LayoutInfo {
	if int(l) >= len(layouts) {
		return LayoutInfo{}
	}
	return layouts[l]
}

func (l Layout) String() string {
	if name := l.Info().Name; name != "" {
		return name
	}
	return fmt.Sprintf("layout(%d)", uint8(l))
}

// SampleBytes returns the size of a sample in memory.
func (i LayoutInfo) SampleBytes() int { return (i.Depth + 7) / 8 }

// Matrix is the YUV-to-RGB matrix of a frame. The zero value is not resolved yet.
type Matrix uint8

// The matrices that filters know.
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

// Format is all that a filter must know of a frame's samples. Formats are comparable with ==. The
// methods about planes panic on numbers that are no layout; the zero Layout has no planes.
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
func (f Format) NumPlanes() int { return layouts[f.Layout].Planes }

// ChromaShift returns log2 of the chroma subsampling across and down.
func (f Format) ChromaShift() (x, y int) { return layouts[f.Layout].SubX, layouts[f.Layout].SubY }

// PlaneSize returns the width in bytes and the height in rows of plane i. Odd sizes round chroma
// up.
func (f Format) PlaneSize(i int) (widthBytes, rows int) {
	l := &layouts[f.Layout]
	if i == 0 {
		return l.Samples * f.Width * l.SampleBytes(), f.Height
	}
	w, h := ceilShift(f.Width, l.SubX), ceilShift(f.Height, l.SubY)
	if l.SemiPlanar {
		w *= 2
	}
	return w * l.SampleBytes(), h
}

func ceilShift(n, shift int) int { return (n + 1<<shift - 1) >> shift }

// PitchAlign is the alignment in bytes of every plane and row that this package lays out: a cache
// line, which is also the widest SIMD register.
const PitchAlign = 64

// PlanLayout returns the places of a frame's planes in one buffer: offset and pitch in bytes of
// each, and the size of the whole. Up to extra bytes past the end of each plane may be touched.
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
