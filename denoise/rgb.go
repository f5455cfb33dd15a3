package denoise

import (
	"math"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// RGB pictures are denoised in the planes of an orthonormal transform, scaled alike: their mean,
// and two opponents. Noise of one sigma in R, G and B has 1/sqrt(3) of it in each, and is less
// beside the detail of the mean than in luma. The planes have the bits of the samples, which is
// enough, and the results have 16: their difference to the planes before these were rounded is
// added to the samples, and rounded once. What the filter leaves alone keeps its bits.

const (
	changeDepth = 16 // bits of the results
	fixed       = 20 // bits of the weights below 1
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

// split returns the planes of R, G and B, all of changeDepth bits.
func split(red, grn, blue int) [3]int {
	const half, middle = 1 << (fixed - 1), 1 << (changeDepth - 1)
	return [3]int{
		((red+grn+blue)*third + half) >> fixed,
		middle + ((red-blue)*redBlue+half)>>fixed,
		middle + ((red-2*grn+blue)*green+half)>>fixed,
	}
}

// rounded returns a value of changeDepth bits as a sample of depth bits.
func rounded(v, depth int) int {
	down := changeDepth - depth
	return min((v+1<<down>>1)>>down, 1<<depth-1)
}

// split sets rows to the planes of R, G and B of as many bits.
func (r *rows) split(rgb *rows, depth int) {
	up := changeDepth - depth
	for x := range rgb[0] {
		all := split(int(rgb[0][x])<<up, int(rgb[1][x])<<up, int(rgb[2][x])<<up)
		for i, v := range all {
			r[i][x] = uint16(rounded(v, depth))
		}
	}
}

// add adds to a row of RGB of so many bits, which become other ones, what is other in a result.
// rounding is in steps of the result, by the last bits of the column.
func (rgb *rows) add(result *rows, from, to int, rounding *[8]int) {
	up, down, most := changeDepth-from, changeDepth-to, 1<<to-1
	for x := range rgb[0] {
		red, grn, blue := int(rgb[0][x])<<up, int(rgb[1][x])<<up, int(rgb[2][x])<<up
		change := split(red, grn, blue)
		for i, was := range change {
			is := int(result[i][x])
			change[i] = is - was
			if is == rounded(was, from)<<up { // it was left alone
				change[i] = 0
			}
		}
		mean, a, b := change[0]<<fixed+1<<(fixed-1), change[1]*ofRedBlue, change[2]*ofGreen
		red += (mean + a + b) >> fixed
		grn += (mean - 2*b) >> fixed
		blue += (mean - a + b) >> fixed
		r := rounding[x&7]
		rgb[0][x] = uint16(min(max((red+r)>>down, 0), most))
		rgb[1][x] = uint16(min(max((grn+r)>>down, 0), most))
		rgb[2][x] = uint16(min(max((blue+r)>>down, 0), most))
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
	depth := in.Layout.Info().Depth
	out := emptyPlanes(in, depth)
	from, to := components(in), components(out)
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

// emptyPlanes returns a frame for the planes of an RGB frame, or for what the engine makes of them.
func emptyPlanes(in *pipeline.Frame, depth int) *pipeline.Frame {
	out := pipeline.Blank(pipeline.Format{
		Layout: pipeline.YUV444P.At(depth), Width: in.Width, Height: in.Height, Matrix: pipeline.BT601, FullRange: true,
	})
	out.Interlaced, out.TopFieldFirst = in.Interlaced, in.TopFieldFirst
	return out
}

// addToRGB writes in to out, of as many bits or more, with what is other in the result of its planes.
// Alpha stays.
func addToRGB(out, in, result *pipeline.Frame) {
	if out.Layout == in.Layout {
		out.CopySamples(in) // for its alpha
	}
	from, is, to := components(in), components(result), components(out)
	had, has := in.Layout.Info().Depth, out.Layout.Info().Depth
	pattern, fields := Rounding(has), len(plane.Fields(in))
	eachRows(in, func(y0, y1 int) {
		rgb, planes := newRows(in.Width), newRows(in.Width)
		for y := y0; y < y1; y++ {
			var rounding [8]int
			for x := range rounding {
				rounding[x] = int(pattern.at(x, y/fields) * float32(int(1)<<(changeDepth-has)))
			}
			rgb.read(&from, y)
			planes.read(&is, y)
			rgb.add(&planes, had, has, &rounding)
			rgb.write(&to, y)
		}
	})
}
