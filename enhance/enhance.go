// Package enhance turns plain options, such as --scale 1080p, into graphs in FFmpeg's syntax. It
// detects black bars, measures the offset of chroma from luma, and shifts chroma. It works on
// values and frames, and opens no files.
package enhance

import (
	"fmt"

	"vidfilter/pipeline"
)

// Facts are the properties of frames that an option needs.
type Facts struct {
	Format pipeline.Format
	Aspect pipeline.Ratio // width to height of a sample; unknown counts as 1
	Matrix [9]int32       // as in pipeline.Video

	Interlaced  bool // the first frame is
	Progressive bool // no frame is interlaced, by the file's header or the user's word
}

// FactsOf returns the facts of a video by its first frame.
func FactsOf(first *pipeline.Frame, progressive bool) Facts {
	f := Facts{Format: first.Format, Interlaced: first.Interlaced, Progressive: progressive && !first.Interlaced}
	if v := first.Video; v != nil {
		f.Aspect, f.Matrix = v.Aspect, v.Matrix
	}
	return f
}

func (f Facts) aspect() float64 {
	if !f.Aspect.Known() {
		return 1
	}
	return f.Aspect.Float64()
}

// orientation returns how stored pictures are turned for display: first columns and rows change
// places if sideways, then the picture is mirrored.
func (f Facts) orientation() (sideways, mirrorX, mirrorY bool) {
	a, b, c, d := f.Matrix[0], f.Matrix[1], f.Matrix[3], f.Matrix[4]
	size := func(x int32) int64 { return max(int64(x), -int64(x)) }
	if size(b)+size(c) > size(a)+size(d) {
		return true, c < 0, b < 0
	}
	return false, a < 0, d < 0
}

// shownSize returns the size of pictures as they are shown, in stored samples.
func (f Facts) shownSize() (width, height int) {
	if sideways, _, _ := f.orientation(); sideways {
		return f.Format.Height, f.Format.Width
	}
	return f.Format.Width, f.Format.Height
}

// Box is a rectangle of samples. Its values have the order of FFmpeg's crop.
type Box struct{ Width, Height, X, Y int }

func (b Box) String() string { return fmt.Sprintf("%d:%d:%d:%d", b.Width, b.Height, b.X, b.Y) }

func (b Box) empty() bool { return b.Width <= 0 || b.Height <= 0 }

// Stored returns where a box of the shown picture lies in the stored one.
func (f Facts) Stored(b Box) Box {
	sideways, mirrorX, mirrorY := f.orientation()
	width, height := f.shownSize()
	b = b.mirrored(width, height, mirrorX, mirrorY)
	if sideways {
		return b.turned()
	}
	return b
}

// Shown returns where a box of the stored picture lies in the shown one.
func (f Facts) Shown(b Box) Box {
	sideways, mirrorX, mirrorY := f.orientation()
	width, height := f.shownSize()
	if sideways {
		b = b.turned()
	}
	return b.mirrored(width, height, mirrorX, mirrorY)
}

func (b Box) turned() Box { return Box{b.Height, b.Width, b.Y, b.X} }

func (b Box) mirrored(width, height int, x, y bool) Box {
	if x {
		b.X = width - b.X - b.Width
	}
	if y {
		b.Y = height - b.Y - b.Height
	}
	return b
}

// steps returns the numbers of columns and rows of the stored picture that stay together: of a
// sample of chroma, and in both fields unless every frame is progressive.
func (f Facts) steps() (x, y int) {
	subX, subY := f.Format.ChromaShift()
	if l := f.Format.Layout.Info(); l.RGB || l.Gray() {
		subX, subY = 1, 1 // most encoders take even sides alone
	}
	x, y = max(2, 1<<subX), max(2, 1<<subY)
	if !f.Progressive {
		y = 2 << subY
	}
	return x, y
}

// cut reports whether samples of chroma reach beyond the picture, which zscale does not take.
func (f Facts) cut() bool {
	x, y := f.Format.ChromaShift()
	return f.Format.Width%(1<<x) != 0 || f.Format.Height%(1<<y) != 0
}

// planar returns the name of the planar layout of the frames' kind at a depth.
func (f Facts) planar(depth int) string {
	l := f.Format.Layout
	switch l.Arrangement() {
	case pipeline.NV12:
		l = pipeline.YUV420P
	case pipeline.NV16:
		l = pipeline.YUV422P
	case pipeline.NV24:
		l = pipeline.YUV444P
	}
	return l.At(depth).String()
}

// alphaInside reports whether alpha lies among the samples.
func (f Facts) alphaInside() bool { return f.Format.Layout.Arrangement() == pipeline.RGBA }
