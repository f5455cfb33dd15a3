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
// added to the samples, and rounded once. Samples that the filter leaves alone keep their bits.

const (
	changeDepth = 16 // bits of the results
	fixed       = 20 // bits of the weights below 1

	third     = 349525  // 1/3, of R, G and B in the mean
	redBlue   = 428079  // 1/sqrt(6), of R-B in the second plane
	green     = 247152  // 1/sqrt(18), of R-2G+B in the third
	ofRedBlue = 1284238 // sqrt(1.5), of the second plane in R, and less it in B
	ofGreen   = 741455  // sqrt(0.5), of the third in R and B, and less twice it in G
)

// noiseOfSamples is the noise of a layout's samples relative to the filtered planes'.
func noiseOfSamples(l pipeline.Layout) float64 {
	if l.Info().RGB {
		return math.Sqrt(3)
	}
	return 1
}

// rows are a row of each of three planes.
type rows [3][]uint16

// of returns the rows, all of one length.
func (r *rows) of() (a, b, c []uint16) {
	n := len(r[0])
	return r[0], r[1][:n], r[2][:n]
}

func newRows(width int) (r rows) {
	for i := range r {
		r[i] = make([]uint16, width)
	}
	return r
}

// split returns the planes of R, G and B, all of changeDepth bits.
func split(red, grn, blue int) (a, b, c int) {
	const half, middle = 1 << (fixed - 1), 1 << (changeDepth - 1)
	return ((red+grn+blue)*third + half) >> fixed,
		middle + ((red-blue)*redBlue+half)>>fixed,
		middle + ((red-2*grn+blue)*green+half)>>fixed
}

// scale converts samples of a depth to changeDepth bits.
type scale struct{ shift, half, most int }

func scaleOf(depth int) scale {
	shift := changeDepth - depth
	return scale{shift, 1 << shift >> 1, 1<<depth - 1}
}

// up returns a sample in changeDepth bits.
func (s scale) up(v uint16) int { return int(v) << (s.shift & 15) }

// rounded is the reverse of up.
func (s scale) rounded(v int) uint16 { return uint16(min((v+s.half)>>(s.shift&15), s.most)) }

// split sets rows to the planes of R, G and B of as many bits.
func (r *rows) split(rgb *rows, depth int) {
	s := scaleOf(depth)
	reds, greens, blues := rgb.of()
	first, second, third := r.of()
	for x := range reds {
		a, b, c := split(s.up(reds[x]), s.up(greens[x]), s.up(blues[x]))
		first[x], second[x], third[x] = s.rounded(a), s.rounded(b), s.rounded(c)
	}
}

// change is the change of a sample in the result; 0 where it was left alone.
func (s scale) change(is uint16, was int) int {
	if int(is) == s.up(s.rounded(was)) {
		return 0
	}
	return int(is) - was
}

// add adds the changes of a result to a row of RGB, and converts its depth. rounding is in steps of
// the result, by the last bits of the column.
func (r *rows) add(result *rows, from, to int, rounding *[8]int) {
	had, has := scaleOf(from), scaleOf(to)
	reds, greens, blues := r.of()
	first, second, third := result.of()
	for x := range reds {
		red, grn, blue := had.up(reds[x]), had.up(greens[x]), had.up(blues[x])
		a, b, c := split(red, grn, blue)
		a = had.change(first[x], a)<<fixed + 1<<(fixed-1)
		b = had.change(second[x], b) * ofRedBlue
		c = had.change(third[x], c) * ofGreen
		more := rounding[x&7]
		reds[x] = has.cut(red + (a+b+c)>>fixed + more)
		greens[x] = has.cut(grn + (a-2*c)>>fixed + more)
		blues[x] = has.cut(blue + (a-b+c)>>fixed + more)
	}
}

// cut returns a value to which its rounding was added as a sample.
func (s scale) cut(v int) uint16 { return uint16(min(max(v>>(s.shift&15), 0), s.most)) }

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
	out := pipeline.Blank(pipeline.Format{
		Layout: pipeline.YUV444P.At(depth), Width: in.Width, Height: in.Height, Matrix: pipeline.BT601, FullRange: true,
	})
	out.Interlaced, out.TopFieldFirst = in.Interlaced, in.TopFieldFirst
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

// emptyPlanes returns a frame of the given depth for the engine's result.
func emptyPlanes(planes *pipeline.Frame, depth int) *pipeline.Frame {
	format := planes.Format
	format.Layout = format.Layout.At(depth)
	out := pipeline.Blank(format)
	out.Interlaced, out.TopFieldFirst = planes.Interlaced, planes.TopFieldFirst
	return out
}

// addToRGB writes in, with the filter's changes in its planes, to out, which has as many bits or
// more. Alpha stays.
func addToRGB(out, in, result *pipeline.Frame) {
	if out.Layout == in.Layout {
		out.CopySamples(in) // for its alpha
	}
	from, is, to := components(in), components(result), components(out)
	had, has := in.Layout.Info().Depth, out.Layout.Info().Depth
	pattern, fields := pipeline.Rounding(has), len(plane.Fields(in))
	eachRows(in, func(y0, y1 int) {
		rgb, planes := newRows(in.Width), newRows(in.Width)
		for y := y0; y < y1; y++ {
			var rounding [8]int
			for x := range rounding {
				rounding[x] = int(pattern.At(x, y/fields) * float32(int(1)<<(changeDepth-has)))
			}
			rgb.read(&from, y)
			planes.read(&is, y)
			rgb.add(&planes, had, has, &rounding)
			rgb.write(&to, y)
		}
	})
}
