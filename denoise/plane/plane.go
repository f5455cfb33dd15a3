// Package plane holds planes of samples of any depth, as the reference of the denoiser reads them.
package plane

import "vidfilter/pipeline"

// Plane is a plane of samples in rows without padding, each in 0..1<<Depth-1.
type Plane struct {
	Width, Height int
	Depth         int // bits of a sample, 8 to 16
	Pix           []uint16
}

// New returns a plane of zeros.
func New(width, height, depth int) Plane {
	return Plane{width, height, depth, make([]uint16, width*height)}
}

// Like returns a plane of zeros with the size and depth of p.
func (p Plane) Like() Plane { return New(p.Width, p.Height, p.Depth) }

// Max is the largest sample.
func (p Plane) Max() int { return 1<<p.Depth - 1 }

// Unit is the size of an 8-bit level in levels of this depth.
func (p Plane) Unit() int { return 1 << (p.Depth - 8) }

// Row returns row y.
func (p Plane) Row(y int) []uint16 { return p.Pix[y*p.Width:][:p.Width:p.Width] }

// At returns a sample; beyond the edges, that of the nearest one inside.
func (p Plane) At(x, y int) int {
	x, y = min(max(x, 0), p.Width-1), min(max(y, 0), p.Height-1)
	return int(p.Pix[y*p.Width+x])
}

// AtLeast returns p with its edges repeated to the right and below until it is width by height, or
// p itself if it is as large.
func (p Plane) AtLeast(width, height int) Plane {
	if p.Width >= width && p.Height >= height {
		return p
	}
	out := New(max(p.Width, width), max(p.Height, height), p.Depth)
	for y := range out.Height {
		row := out.Row(y)
		for x := range row {
			row[x] = uint16(p.At(x, y))
		}
	}
	return out
}

// Reduced returns the plane with fewer bits, rounded.
func (p Plane) Reduced(depth int) Plane {
	shift := p.Depth - depth
	if shift <= 0 {
		return p
	}
	out := New(p.Width, p.Height, depth)
	for i, v := range p.Pix {
		out.Pix[i] = uint16(min((int(v)+1<<(shift-1))>>shift, out.Max()))
	}
	return out
}

// Crop returns a copy of the part of p at the top left.
func (p Plane) Crop(width, height int) Plane {
	out := New(width, height, p.Depth)
	for y := range height {
		copy(out.Row(y), p.Row(y))
	}
	return out
}

// Picture is the luma plane and, unless the picture is gray, both chroma planes.
type Picture struct {
	Planes         []Plane
	ShiftX, ShiftY int // log2 of the chroma subsampling across and down
}

// Clone returns a copy of a picture.
func (pic Picture) Clone() Picture {
	return pic.each(func(p Plane) Plane { return p.Crop(p.Width, p.Height) })
}

// AtLeast returns the picture with each plane enlarged to a size, as Plane.AtLeast does.
func (pic Picture) AtLeast(width, height int) Picture {
	return pic.each(func(p Plane) Plane { return p.AtLeast(width, height) })
}

func (pic Picture) each(do func(Plane) Plane) Picture {
	out := pic
	out.Planes = nil
	for _, p := range pic.Planes {
		out.Planes = append(out.Planes, do(p))
	}
	return out
}

// Of copies a frame's samples. The frame must be YUV.
func Of(f *pipeline.Frame) Picture {
	info := f.Layout.Info()
	pic := Picture{ShiftX: info.SubX, ShiftY: info.SubY}
	for i := range 3 {
		pic.Planes = append(pic.Planes, component(f, i, info))
	}
	return pic
}

// component copies a component from a plane of its own or from interleaved chroma.
func component(f *pipeline.Frame, i int, info pipeline.LayoutInfo) Plane {
	from, first, step := i, 0, 1
	if info.SemiPlanar && i > 0 {
		from, first, step = 1, i-1, 2
	}
	width, height := f.PlaneSize(from)
	width /= step * info.SampleBytes()
	p := New(width, height, info.Depth)
	for y := range height {
		in, out := f.Row(from, y), p.Row(y)
		for x := range out {
			out[x] = uint16(in[first+x*step])
		}
	}
	return p
}

// Into writes the samples back to a frame of the same layout and size.
func (pic Picture) Into(f *pipeline.Frame) {
	info := f.Layout.Info()
	for i, p := range pic.Planes {
		to, first, step := i, 0, 1
		if info.SemiPlanar && i > 0 {
			to, first, step = 1, i-1, 2
		}
		for y := range p.Height {
			in, out := p.Row(y), f.Row(to, y)
			for x, v := range in {
				out[first+x*step] = byte(v)
			}
		}
	}
}
