package pipeline

import (
	"fmt"
	"slices"
)

// Layout is the arrangement of samples in a frame, and their depth. The constants are for 8 bits;
// At gives others. The zero value is no layout.
type Layout uint16

// The arrangements.
const (
	YUV420P Layout = iota + 1
	YUV422P
	YUV444P
	NV12
	RGBA
	NV16
	NV24
	GRAY
	GBRP
)

const deeper = 8 // a layout's bits from here on are its depth beyond 8

// LayoutInfo describes a layout.
type LayoutInfo struct {
	Name       string // FFmpeg's
	FullRange  string // FFmpeg's older name for the same in full range, or ""
	Alpha      string // FFmpeg's name for the same with a plane of alpha, or ""; it lacks some depths
	Planes     int
	SubX, SubY int  // log2 of the chroma subsampling across and down; of gray as in 4:2:0
	SemiPlanar bool // U and V are interleaved in the second plane
	Samples    int  // of a pixel, side by side in the first plane
	RGB        bool
	Depth      int // bits of a sample: 8 in a byte, more in two, lowest byte first
	Shift      int // of a sample in its two bytes: the bits below it are 0
}

// arrangement is a row of the table of layouts.
type arrangement struct {
	LayoutInfo
	deep      string // FFmpeg's name at more than 8 bits, with the depth to be filled in
	deepAlpha string // the same for LayoutInfo.Alpha
	depths    []int  // beyond 8
}

// arrangements is the table of layouts. C has their numbers in kernels/layouts.h.
var arrangements = [...]arrangement{
	YUV420P: {LayoutInfo{Name: "yuv420p", FullRange: "yuvj420p", Alpha: "yuva420p", Planes: 3, SubX: 1, SubY: 1}, "yuv420p%dle", "yuva420p%dle", planar},
	YUV422P: {LayoutInfo{Name: "yuv422p", FullRange: "yuvj422p", Alpha: "yuva422p", Planes: 3, SubX: 1}, "yuv422p%dle", "yuva422p%dle", planar},
	YUV444P: {LayoutInfo{Name: "yuv444p", FullRange: "yuvj444p", Alpha: "yuva444p", Planes: 3}, "yuv444p%dle", "yuva444p%dle", planar},
	NV12:    {LayoutInfo{Name: "nv12", Planes: 2, SubX: 1, SubY: 1, SemiPlanar: true}, "p0%dle", "", inPairs},
	// R first in memory
	RGBA: {LayoutInfo{Name: "rgba", Planes: 1, Samples: 4, RGB: true}, "", "", nil},
	NV16: {LayoutInfo{Name: "nv16", Planes: 2, SubX: 1, SemiPlanar: true}, "p2%dle", "", inPairs},
	NV24: {LayoutInfo{Name: "nv24", Planes: 2, SemiPlanar: true}, "p4%dle", "", inPairs},
	// Y alone
	GRAY: {LayoutInfo{Name: "gray", Planes: 1, SubX: 1, SubY: 1}, "gray%dle", "", planar},
	// G, B, R
	GBRP: {LayoutInfo{Name: "gbrp", Alpha: "gbrap", Planes: 3, RGB: true}, "gbrp%dle", "gbrap%dle", planar},
}

// The depths beyond 8 that FFmpeg has.
var (
	planar  = []int{9, 10, 12, 14, 16}
	inPairs = []int{10, 12, 16}
)

// Layouts lists all layouts: the arrangements in order, each at all its depths.
func Layouts() (all []Layout) {
	for base := YUV420P; int(base) < len(arrangements); base++ {
		all = append(all, base)
		for _, depth := range arrangements[base].depths {
			all = append(all, base.At(depth))
		}
	}
	return all
}

// At returns the same arrangement with samples of depth bits, or no layout if the table has none.
func (l Layout) At(depth int) Layout {
	l = l.Arrangement()
	if depth == 8 {
		return l
	}
	if int(l) >= len(arrangements) || !slices.Contains(arrangements[l].depths, depth) {
		return 0
	}
	return l | Layout(depth-8)<<deeper
}

// Arrangement returns the layout of 8 bits with the samples in the same places.
func (l Layout) Arrangement() Layout { return l & (1<<deeper - 1) }

// Valid reports whether the table has the layout.
func (l Layout) Valid() bool { return l.info().Planes > 0 }

// Basic reports whether every filter takes the layout: the first five, at 8 bits.
func (l Layout) Basic() bool { return l >= YUV420P && l <= RGBA }

// Info returns the layout's row of the table, empty for an invalid layout.
func (l Layout) Info() LayoutInfo { return *l.info() }

func (l Layout) info() *LayoutInfo {
	if int(l) >= len(infos) {
		l = 0
	}
	return &infos[l]
}

// infos has the layouts' rows of the table, by layout.
var infos [9 << deeper]LayoutInfo

func init() { // in place: most of the array is never touched
	for _, l := range Layouts() {
		row := arrangements[l.Arrangement()]
		info := row.LayoutInfo
		info.Depth, info.Samples = 8+int(l>>deeper), max(info.Samples, 1)
		if info.Depth > 8 {
			info.Name, info.FullRange = fmt.Sprintf(row.deep, info.Depth), ""
			if info.Alpha != "" {
				info.Alpha = fmt.Sprintf(row.deepAlpha, info.Depth)
			}
			if info.SemiPlanar {
				info.Shift = 16 - info.Depth
			}
		}
		infos[l] = info
	}
}

func (l Layout) String() string {
	if name := l.info().Name; name != "" {
		return name
	}
	return fmt.Sprintf("layout(%d)", uint16(l))
}

// Gray reports whether the layout has no colour.
func (i LayoutInfo) Gray() bool { return i.Planes == 1 && !i.RGB }

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
// methods about planes panic on numbers that are no layout. The zero Layout has no planes.
type Format struct {
	Layout        Layout
	Width, Height int    // luma samples
	Matrix        Matrix // ignored for RGB
	FullRange     bool   // all values rather than 16-235/240 of 255; ignored for RGB
}

func (f Format) String() string {
	return fmt.Sprintf("%s %dx%d", f.Layout, f.Width, f.Height)
}

// NumPlanes returns how many of Frame.Planes are used.
func (f Format) NumPlanes() int { return f.Layout.info().Planes }

// ChromaShift returns log2 of the chroma subsampling across and down.
func (f Format) ChromaShift() (x, y int) {
	l := f.Layout.info()
	return l.SubX, l.SubY
}

// PlaneSize returns the width in bytes and the height in rows of plane i. Odd sizes round chroma
// up.
func (f Format) PlaneSize(i int) (widthBytes, rows int) {
	l := f.Layout.info()
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
