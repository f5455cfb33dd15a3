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

// At returns a sample; beyond the edges, the nearest one inside.
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

// Deeper returns a copy of a picture with the same values in samples of depth bits, no fewer than
// its own.
func (pic Picture) Deeper(depth int) Picture {
	return pic.each(func(p Plane) Plane {
		out := New(p.Width, p.Height, depth)
		for i, v := range p.Pix {
			out.Pix[i] = v << (depth - p.Depth)
		}
		return out
	})
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

// Of copies the samples of a frame, or of one of its fields. The frame must be YUV.
func Of(f *pipeline.Frame, field Field) Picture {
	info := f.Layout.Info()
	pic := Picture{ShiftX: info.SubX, ShiftY: info.SubY}
	for i := range Components(f.Layout) {
		c := ComponentOf(f, field, i)
		p := New(c.Width, c.Height, c.Depth)
		for y := range p.Height {
			c.Read(p.Row(y), 0, y)
		}
		pic.Planes = append(pic.Planes, p)
	}
	return pic
}

// Into writes the samples back to a frame of the same layout and size, or to one of its fields. A
// gray frame takes luma alone.
func (pic Picture) Into(f *pipeline.Frame, field Field) {
	for i, p := range pic.Planes[:Components(f.Layout)] {
		c := ComponentOf(f, field, i)
		if !c.Own {
			continue
		}
		for y := range p.Height {
			c.Write(p.Row(y), y)
		}
	}
}
