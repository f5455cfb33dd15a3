package denoise

import (
	"math"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// RGB pictures are denoised in the planes of an orthonormal transform, scaled alike: their mean,
// and two opponents. Noise of one sigma in R, G and B has 1/sqrt(3) of it in each, and is less
// beside the detail of the mean than in luma. What the filter changes is added to the original
// samples, so that what it leaves alone keeps its bits.

const (
	rgbDepth = 16 // of the planes: what is added is rounded once, with the sample
	fixed    = 20 // bits of the weights below 1
)

var (
	third     = weight(1. / 3)            // of R, G and B in the mean
	redBlue   = weight(1 / math.Sqrt(6))  // of R-B in the second plane
	green     = weight(1 / math.Sqrt(18)) // of R-2G+B in the third
	ofRedBlue = weight(math.Sqrt(1.5))    // of the second plane in R, and less it in B
	ofGreen   = weight(math.Sqrt(0.5))    // of the third in R and B, and less twice it in G
)

func weight(w float64) int { return int(math.Round(w * (1 << fixed))) }

// noiseOfSamples is the noise of a layout's samples in that of the planes that are filtered.
func noiseOfSamples(l pipeline.Layout) float64 {
	if l.Info().RGB {
		return math.Sqrt(3)
	}
	return 1
}

// rows are a row of each of three planes.
type rows [3][]uint16

func newRows(width int) (r rows) {
	for i := range r {
		r[i] = make([]uint16, width)
	}
	return r
}

// split sets rows to the planes of R, G and B of so many bits.
func (r *rows) split(rgb *rows, depth int) {
	const half, middle = 1 << (fixed - 1), 1 << (rgbDepth - 1)
	reds, greens, blues := rgb[0], rgb[1], rgb[2]
	up := rgbDepth - depth
	for x := range reds {
		r0, g0, b0 := int(reds[x])<<up, int(greens[x])<<up, int(blues[x])<<up
		r[0][x] = uint16(((r0+g0+b0)*third + half) >> fixed)
		r[1][x] = uint16(middle + ((r0-b0)*redBlue+half)>>fixed)
		r[2][x] = uint16(middle + ((r0-2*g0+b0)*green+half)>>fixed)
	}
}

// add adds the difference of two rows of planes to one of RGB of so many bits, which become other
// ones. rounding is in steps of the planes, by the last bits of the column.
func (rgb *rows) add(was, is *rows, from, to int, rounding [8]int) {
	up, down, most := rgbDepth-from, rgbDepth-to, 1<<to-1
	for x := range rgb[0] {
		mean := (int(is[0][x]) - int(was[0][x])) << fixed
		a := (int(is[1][x]) - int(was[1][x])) * ofRedBlue
		b := (int(is[2][x]) - int(was[2][x])) * ofGreen
		for i, change := range [3]int{mean + a + b, mean - 2*b, mean - a + b} {
			v := int(rgb[i][x])<<up + rounding[x&7] + (change+1<<(fixed-1))>>fixed
			rgb[i][x] = uint16(min(max(v>>down, 0), most))
		}
	}
}

// components finds R, G and B, or the planes that they are filtered in.
func components(f *pipeline.Frame) (all [3]plane.Component) {
	info := f.Layout.Info()
	for i := range all {
		switch {
		case info.Samples > 1:
			p := f.Planes[0]
			all[i] = plane.Component{Data: p.Data[i:], Pitch: p.Pitch, Step: info.Samples, Depth: 8, Width: f.Width, Height: f.Height, Own: true}
		case info.RGB:
			all[i] = plane.ComponentOf(f, plane.Whole, (i+2)%3) // after G and B
		default:
			all[i] = plane.ComponentOf(f, plane.Whole, i)
		}
	}
	return all
}

func (r *rows) read(from *[3]plane.Component, y int) {
	for i := range from {
		from[i].Read(r[i], 0, y)
	}
}

func (r *rows) write(to *[3]plane.Component, y int) {
	for i := range to {
		to[i].Write(r[i], y)
	}
}

// eachRows shares the rows of a frame among all cores.
func eachRows(f *pipeline.Frame, do func(y0, y1 int)) {
	const rows = 32
	plane.Rows((f.Height+rows-1)/rows, func(i int) { do(i*rows, min((i+1)*rows, f.Height)) })
}

// planesOfRGB returns the planes that an RGB frame is filtered in, in memory of their own.
func planesOfRGB(in *pipeline.Frame) *pipeline.Frame {
	out := emptyPlanes(in)
	from, to, depth := components(in), components(out), in.Layout.Info().Depth
	eachRows(in, func(y0, y1 int) {
		rgb, planes := newRows(in.Width), newRows(in.Width)
		for y := y0; y < y1; y++ {
			rgb.read(&from, y)
			planes.split(&rgb, depth)
			planes.write(&to, y)
		}
	})
	return out
}

// emptyPlanes returns a frame for the planes of an RGB frame.
func emptyPlanes(in *pipeline.Frame) *pipeline.Frame {
	out := pipeline.Blank(pipeline.Format{
		Layout: pipeline.YUV444P.At(rgbDepth), Width: in.Width, Height: in.Height, Matrix: pipeline.BT601, FullRange: true,
	})
	out.Interlaced, out.TopFieldFirst = in.Interlaced, in.TopFieldFirst
	return out
}

// addToRGB writes in to out, of as many bits or more, with the difference of two frames of planes
// added. Alpha stays.
func addToRGB(out, in, before, after *pipeline.Frame) {
	if out.Layout == in.Layout {
		out.CopySamples(in) // for its alpha
	}
	rgb, was, is, to := components(in), components(before), components(after), components(out)
	depth := out.Layout.Info().Depth
	pattern := Rounding(depth)
	fields := len(plane.Fields(in))
	eachRows(in, func(y0, y1 int) {
		samples, from, result := newRows(in.Width), newRows(in.Width), newRows(in.Width)
		for y := y0; y < y1; y++ {
			var rounding [8]int
			for x := range rounding {
				rounding[x] = int(pattern.at(x, y/fields) * float32(int(1)<<(rgbDepth-depth)))
			}
			samples.read(&rgb, y)
			from.read(&was, y)
			result.read(&is, y)
			samples.add(&from, &result, in.Layout.Info().Depth, depth, rounding)
			samples.write(&to, y)
		}
	})
}
