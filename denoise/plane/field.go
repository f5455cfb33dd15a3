package plane

import (
	"encoding/binary"

	"vidfilter/pipeline"
)

// Field is a part of a frame that is a picture by itself.
type Field uint8

// The parts.
const (
	Whole  Field = iota
	Top          // rows 0, 2, 4, ...
	Bottom       // rows 1, 3, 5, ...
)

// Fields returns the pictures in a frame: itself, or its two fields if it is interlaced.
func Fields(f *pipeline.Frame) []Field {
	if f.Interlaced && f.Height > 1 {
		return []Field{Top, Bottom}
	}
	return []Field{Whole}
}

// Rows returns the first of the field's rows in a plane of a given height, the step between them,
// and how many there are. Where a field has no row of chroma of its own, in frames of one or two
// chroma rows, it reads the frame's first and own is false.
func (f Field) Rows(height int) (first, step, n int, own bool) {
	if f == Whole {
		return 0, 1, height, true
	}
	first = int(f - Top)
	if first >= height {
		return 0, 2, 1, false
	}
	return first, 2, (height - first + 1) / 2, true
}

// Component is where a component of a field, Y, U or V or one of RGB, is in a frame.
type Component struct {
	Data          []byte // from its first sample
	Pitch, Step   int    // bytes from row to row, and from sample to sample
	Depth, Shift  int    // bits of a sample, in one byte or two; those below it in its two bytes
	Width, Height int    // samples
	Own           bool   // false: the rows are another field's
}

// Components returns the number of components without alpha: 1 for gray, else 3.
func Components(l pipeline.Layout) int {
	if l.Info().Gray() {
		return 1
	}
	return 3
}

// ComponentOf finds a component: a plane, or every nth sample of one in semi-planar and packed
// layouts. Components of RGB are in the order of memory.
func ComponentOf(f *pipeline.Frame, field Field, i int) Component {
	info := f.Layout.Info()
	size := info.SampleBytes()
	at, offset, step := i, 0, size
	switch {
	case info.SemiPlanar && i > 0:
		at, offset, step = 1, (i-1)*size, 2*size
	case info.Samples > 1:
		at, offset, step = 0, i*size, info.Samples*size
	}
	width, height := f.PlaneSize(at)
	first, every, n, own := field.Rows(height)
	p := f.Planes[at]
	return Component{p.Data[first*p.Pitch+offset:], every * p.Pitch, step, info.Depth, info.Shift, width / step, n, own}
}

// Read copies samples of row y, from x on. Two bytes may hold more than the depth allows, which
// becomes the largest sample.
func (c *Component) Read(out []uint16, x, y int) {
	in := c.Data[y*c.Pitch+x*c.Step:]
	switch {
	case c.Depth > 8:
		most := uint16(1<<c.Depth - 1)
		for i := range out {
			out[i] = min(binary.LittleEndian.Uint16(in[i*c.Step:])>>c.Shift, most)
		}
	case c.Step == 1:
		in = in[:len(out)]
		for i, s := range in {
			out[i] = uint16(s)
		}
	default:
		for i := range out {
			out[i] = uint16(in[i*c.Step])
		}
	}
}

// Write sets the samples of row y.
func (c *Component) Write(in []uint16, y int) {
	out := c.Data[y*c.Pitch:]
	for i, v := range in {
		if c.Depth > 8 {
			binary.LittleEndian.PutUint16(out[i*c.Step:], v<<c.Shift)
		} else {
			out[i*c.Step] = byte(v)
		}
	}
}
