package measure

import (
	"math/rand/v2"

	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Picture returns a frame of slopes, edges and noise, always the same.
func Picture(f pipeline.Format) *pipeline.Frame {
	frame := pipeline.Blank(f)
	scene.Pattern(frame, rand.New(rand.NewPCG(1, 1)))
	ClearAlpha(frame)
	return frame
}

// ClearAlpha sets the alpha of RGBA to 0. The kernel of 001 treats alpha as a fourth colour, and so
// agrees with the others.
func ClearAlpha(f *pipeline.Frame) {
	if f.Layout != pipeline.RGBA {
		return
	}
	for y := range f.Height {
		for row := f.Row(0, y); len(row) > 0; row = row[4:] {
			row[3] = 0
		}
	}
}

// FormatOf returns the format of a measured frame.
func FormatOf(l pipeline.Layout, s Size) pipeline.Format {
	return pipeline.Format{Layout: l, Width: s.Width, Height: s.Height, Matrix: pipeline.BT709}
}

// FrameBytes counts the bytes of a frame's samples, without padding.
func FrameBytes(f pipeline.Format) (n int) {
	for i := range f.NumPlanes() {
		w, rows := f.PlaneSize(i)
		n += w * rows
	}
	return n
}
