package motion

import "vidfilter/denoise/plane"

// windowSide is the side of the squares that are compared. Cells may be smaller: then the windows
// of neighbouring cells overlap.
const windowSide = 16

// window is a square of samples about a cell, cut by the edges of the plane.
type window struct {
	x0, y0, x1, y1 int
	full           int // samples it would have if it were not cut
}

// cellWindow is the window of the given side about cell (x, y).
func cellWindow(p plane.Plane, cell, side, x, y int) window {
	x, y = x*cell-(side-cell)/2, y*cell-(side-cell)/2
	return window{max(x, 0), max(y, 0), min(x+side, p.Width), min(y+side, p.Height), side * side}
}

// sad is the sum of absolute differences between the window in a and, moved by whole pels, in b. A
// cut window's difference is scaled to a full one, rounded down.
func (w window) sad(a, b plane.Plane, dx, dy int) int {
	sum := 0
	inside := w.x0+dx >= 0 && w.x1+dx <= b.Width
	for y := w.y0; y < w.y1; y++ {
		p, q := a.Row(y)[w.x0:w.x1], b.Row(min(max(y+dy, 0), b.Height-1))
		if inside {
			sum += rowDifference(p, q[w.x0+dx:w.x1+dx])
			continue
		}
		for i, v := range p {
			x := min(max(w.x0+i+dx, 0), b.Width-1)
			sum += distance(v, q[x])
		}
	}
	return sum * w.full / ((w.x1 - w.x0) * (w.y1 - w.y0))
}

// sadHalf is sad for a vector in half-pels.
func (w window) sadHalf(a plane.Plane, b *HalfPels, v Vector) int {
	phase, dx, dy := v.Phase()
	return w.sad(a, b[phase], dx, dy)
}

func rowDifference(p, q []uint16) (sum int) {
	q = q[:len(p)]
	for i, v := range p {
		sum += distance(v, q[i])
	}
	return sum
}

func distance(a, b uint16) int {
	d := int(a) - int(b)
	return max(d, -d)
}
