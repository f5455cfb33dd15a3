package noise

import "vidfilter/denoise/plane"

// Frame is a picture made ready for the search.
type Frame struct {
	pic    plane.Views
	levels []level // of luma: the half, the quarter and so on
	most   int     // areas to measure
}

// level is a plane of 8-bit luma, smaller than the picture.
type level struct {
	w, h int
	pix  []byte
}

const (
	// minSide is the least side of a picture that can be searched: its half holds one window.
	minSide = 2 * window

	// A level is halved again while it has this number of rows and columns.
	halveFrom = 48
)

// NewFrame makes a picture ready. The frame keeps the picture, which must not change.
func NewFrame(pic plane.Views) *Frame {
	f := &Frame{pic: pic, most: maxAreas}
	luma := &pic.Planes[0]
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

// thumb returns the smallest of the levels, if there is one.
func (f *Frame) thumb() level {
	if len(f.levels) == 0 {
		return level{}
	}
	return f.levels[len(f.levels)-1]
}

// halved returns means of 2x2 samples, in 8 bits. pair returns rows 2y and 2y+1. The new rows are
// shared among all cores.
func halved(width, height int, pair func(y int) (a, b []byte)) level {
	l := level{width / 2, height / 2, make([]byte, width/2*(height/2))}
	l.share(func(y0, y1 int) {
		for y := y0; y < y1; y++ {
			a, b := pair(y)
			halveRow(l.pix[y*l.w:][:l.w], a[:2*l.w], b[:2*l.w])
		}
	})
	return l
}

// share shares the rows among all cores.
func (l level) share(do func(y0, y1 int)) {
	const rows = 32
	plane.Rows((l.h+rows-1)/rows, func(i int) { do(i*rows, min((i+1)*rows, l.h)) })
}

// half returns means of 2x2 samples, in 8 bits.
func half(p *plane.View) level {
	if _, ok := p.Bytes(0); ok {
		return halved(p.Width, p.Height, func(y int) (a, b []byte) {
			a, _ = p.Bytes(2 * y)
			b, _ = p.Bytes(2*y + 1)
			return a, b
		})
	}
	l := level{p.Width / 2, p.Height / 2, make([]byte, p.Width/2*(p.Height/2))}
	shift := p.Depth - 8 + 2
	round := uint32(1) << shift >> 1
	l.share(func(y0, y1 int) {
		a, b := make([]uint16, 2*l.w), make([]uint16, 2*l.w)
		for y := y0; y < y1; y++ {
			out := l.pix[y*l.w:][:l.w]
			p.Read(a, 0, 2*y)
			p.Read(b, 0, 2*y+1)
			for x := range out {
				i := 2 * x
				sum := uint32(a[i]) + uint32(a[i+1]) + uint32(b[i]) + uint32(b[i+1])
				out[x] = byte(min((sum+round)>>shift, 255))
			}
		}
	})
	return l
}

func (l level) half() level {
	return halved(l.w, l.h, func(y int) (a, b []byte) { return l.pix[2*y*l.w:], l.pix[(2*y+1)*l.w:] })
}

// alike reports whether two frames have the same shape, so that they can be compared.
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
