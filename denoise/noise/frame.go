package noise

import "vidfilter/denoise/plane"

// Frame is a picture made ready for the search.
type Frame struct {
	pic    plane.Picture
	levels []level // of luma: the half, the quarter and so on
}

// level is a plane of 8-bit luma, smaller than the picture.
type level struct {
	w, h int
	pix  []byte
}

const (
	// minSide is the least side of a picture that can be searched: its half holds one window.
	minSide = 2 * window

	// A level is halved again while it has so many rows and columns.
	halveFrom = 48
)

// NewFrame makes a picture ready. The frame keeps the picture, which must not change.
func NewFrame(pic plane.Picture) *Frame {
	f := &Frame{pic: pic}
	luma := pic.Planes[0]
	if min(luma.Width, luma.Height) < minSide {
		return f
	}
	l := half(luma)
	f.levels = append(f.levels, l)
	for min(l.w, l.h) >= halveFrom {
		l = l.half()
		f.levels = append(f.levels, l)
	}
	return f
}

// half returns means of 2x2 samples, in 8 bits.
func half(p plane.Plane) level {
	l := level{p.Width / 2, p.Height / 2, make([]byte, p.Width/2*(p.Height/2))}
	shift := p.Depth - 8 + 2
	round := uint32(1) << shift >> 1
	for y := range l.h {
		out := l.pix[y*l.w:][:l.w]
		a, b := p.Row(2 * y)[:2*l.w], p.Row(2*y + 1)[:2*l.w]
		for x := range out {
			i := 2 * x
			sum := uint32(a[i]) + uint32(a[i+1]) + uint32(b[i]) + uint32(b[i+1])
			out[x] = byte(min((sum+round)>>shift, 255))
		}
	}
	return l
}

func (l level) half() level {
	out := level{l.w / 2, l.h / 2, make([]byte, l.w/2*(l.h/2))}
	for y := range out.h {
		row := out.pix[y*out.w:][:out.w]
		a, b := l.pix[2*y*l.w:][:2*out.w], l.pix[(2*y+1)*l.w:][:2*out.w]
		for x := range row {
			i := 2 * x
			row[x] = byte((uint32(a[i]) + uint32(a[i+1]) + uint32(b[i]) + uint32(b[i+1]) + 2) / 4)
		}
	}
	return out
}

// alike says whether two frames have the same shape, so that they can be compared.
func (f *Frame) alike(g *Frame) bool {
	if len(f.pic.Planes) != len(g.pic.Planes) {
		return false
	}
	for i, p := range f.pic.Planes {
		q := g.pic.Planes[i]
		if p.Width != q.Width || p.Height != q.Height || p.Depth != q.Depth {
			return false
		}
	}
	return true
}
