package denoise

import (
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// RGB pictures are denoised as YUV: noise and detail part better there. What the filter changes is
// added to the original samples, so that what it leaves alone keeps its bits.

// The weights of R, G and B in luma (BT.601), and of the differences in U and V, in 1/65536.
const (
	lumaR, lumaG, lumaB = 19595, 38470, 7471
	blueScale           = 36984 // 0.5/(1-0.114)
	redScale            = 46745 // 0.5/(1-0.299)
	half                = 1 << 15
	fixed               = 16
)

// row is a row of samples of Y, U and V, or of R, G and B: one each step places.
type row[T byte | uint16] struct {
	of   [3][]T
	step int
}

// toYUV sets a row to another of RGB.
func (r row[T]) toYUV(rgb row[T], depth int) {
	middle, most := 1<<(depth-1), 1<<depth-1
	luma, blue, red := r.of[0], r.of[1], r.of[2]
	for x := range luma {
		i := x * rgb.step
		r, g, b := int(rgb.of[0][i]), int(rgb.of[1][i]), int(rgb.of[2][i])
		v := (lumaR*r + lumaG*g + lumaB*b + half) >> fixed
		luma[x] = T(v)
		blue[x] = T(min(max(middle+((b-v)*blueScale+half)>>fixed, 0), most))
		red[x] = T(min(max(middle+((r-v)*redScale+half)>>fixed, 0), most))
	}
}

// add adds the difference of two rows of YUV to one of RGB.
func (r row[T]) add(was, is row[T], depth int) {
	most := 1<<depth - 1
	for x := range is.of[0] {
		i := x * r.step
		y, u, v := int(is.of[0][x])-int(was.of[0][x]), int(is.of[1][x])-int(was.of[1][x]), int(is.of[2][x])-int(was.of[2][x])
		// The inverse of the transform above, of differences.
		y = y<<fixed + half
		r.of[0][i] = T(min(max(int(r.of[0][i])+(y+91881*v)>>fixed, 0), most))
		r.of[1][i] = T(min(max(int(r.of[1][i])+(y-22554*u-46802*v)>>fixed, 0), most))
		r.of[2][i] = T(min(max(int(r.of[2][i])+(y+116130*u)>>fixed, 0), most))
	}
}

// bytesOf returns row y of a frame of 8 bits where it lies.
func bytesOf(f *pipeline.Frame, y int) row[byte] {
	info := f.Layout.Info()
	if info.Samples > 1 {
		p := f.Row(0, y)
		return row[byte]{[3][]byte{p, p[1:], p[2:]}, info.Samples}
	}
	r := row[byte]{step: 1}
	for i := range r.of {
		r.of[i] = f.Row(planeOf(info, i), y)
	}
	return r
}

func planeOf(info pipeline.LayoutInfo, i int) int {
	if info.RGB {
		return (i + 2) % 3
	}
	return i
}

// words returns a row for samples of more than 8 bits.
func words(width int) row[uint16] {
	r := row[uint16]{step: 1}
	for i := range r.of {
		r.of[i] = make([]uint16, width)
	}
	return r
}

// read reads row y of a frame of more than 8 bits.
func read(r row[uint16], f *pipeline.Frame, y int) {
	for i := range r.of {
		c := plane.ComponentOf(f, plane.Whole, planeOf(f.Layout.Info(), i))
		c.Read(r.of[i], 0, y)
	}
}

// write is the reverse of read.
func write(r row[uint16], f *pipeline.Frame, y int) {
	for i := range r.of {
		c := plane.ComponentOf(f, plane.Whole, planeOf(f.Layout.Info(), i))
		c.Write(r.of[i], y)
	}
}

// eachRows shares the rows of a frame among all cores.
func eachRows(f *pipeline.Frame, do func(y0, y1 int)) {
	const rows = 32
	plane.Rows((f.Height+rows-1)/rows, func(i int) { do(i*rows, min((i+1)*rows, f.Height)) })
}

// ofRGB returns an RGB frame as YUV of the same depth, in memory of its own.
func ofRGB(in *pipeline.Frame) *pipeline.Frame {
	out, depth := emptyYUV(in), in.Layout.Info().Depth
	eachRows(in, func(y0, y1 int) {
		if depth == 8 {
			for y := y0; y < y1; y++ {
				bytesOf(out, y).toYUV(bytesOf(in, y), depth)
			}
			return
		}
		rgb, yuv := words(in.Width), words(in.Width)
		for y := y0; y < y1; y++ {
			read(rgb, in, y)
			yuv.toYUV(rgb, depth)
			write(yuv, out, y)
		}
	})
	return out
}

// emptyYUV returns a frame for the samples of an RGB frame.
func emptyYUV(in *pipeline.Frame) *pipeline.Frame {
	out := pipeline.Blank(pipeline.Format{
		Layout: pipeline.YUV444P.At(in.Layout.Info().Depth), Width: in.Width, Height: in.Height, Matrix: pipeline.BT601, FullRange: true,
	})
	out.Interlaced, out.TopFieldFirst = in.Interlaced, in.TopFieldFirst
	return out
}

// addToRGB writes in to out with the difference of two YUV frames added. Alpha stays.
func addToRGB(out, in, before, after *pipeline.Frame) {
	depth := in.Layout.Info().Depth
	out.CopySamples(in)
	eachRows(in, func(y0, y1 int) {
		if depth == 8 {
			for y := y0; y < y1; y++ {
				bytesOf(out, y).add(bytesOf(before, y), bytesOf(after, y), depth)
			}
			return
		}
		rgb, was, is := words(in.Width), words(in.Width), words(in.Width)
		for y := y0; y < y1; y++ {
			read(rgb, in, y)
			read(was, before, y)
			read(is, after, y)
			rgb.add(was, is, depth)
			write(rgb, out, y)
		}
	})
}
