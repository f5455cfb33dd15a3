package kernels

import "vidfilter/denoise/plane"

// planesOf makes a field's planes: it adds the filter's changes, from the words was to is, to the
// samples of in.
func planesOf(out, in field, t transform, was, is picture) {
	if out.info.RGB {
		storeRGB(out, is)
		return
	}
	plane.Rows(out.height, func(y int) {
		for x := range out.width {
			l, _, _ := t.change(was.at(x, y), is.at(x, y))
			out.set(0, x, y, t.level(float64(in.sample(0, x, y))+l))
		}
	})
	sx, sy := out.info.SubX, out.info.SubY
	plane.Rows(out.chromaWrite, func(cy int) {
		for cx := range (out.width + 1<<sx - 1) >> sx {
			u, v := in.chroma(cx<<sx, cy<<sy)
			du, dv := meanChange(sx, sy, t, was, is, cx, cy)
			out.setChroma(cx, cy, t.level(float64(u)+du), t.level(float64(v)+dv))
		}
	})
}

func storeRGB(out field, p picture) {
	for y := range out.height {
		for x := range out.width {
			w := p.at(x, y)
			for i := range out.channels() {
				plane, at := out.channel(i, x)
				out.set(plane, at, y, w[i])
			}
		}
	}
}

// channels returns how many channels of a word RGB has: planes have no alpha.
func (f field) channels() int { return max(f.info.Planes, f.info.Samples) }

// channel returns where R, G, B or alpha of the pixels in column x lies in RGB.
func (f field) channel(i, x int) (plane, at int) {
	if f.info.Planes == 1 {
		return 0, 4*x + i
	}
	return (i + 2) % 3, x
}

// change returns the difference between two words in Y, U and V.
func (t transform) change(was, is word) (y, u, v float64) {
	from, to := channels(was), channels(is)
	y0, u0, v0 := t.yuv(from[0], from[1], from[2])
	y1, u1, v1 := t.yuv(to[0], to[1], to[2])
	return y1 - y0, u1 - u0, v1 - v0
}

// meanChange returns the mean change of U and V over the existing pixels that the chroma sample
// covers.
func meanChange(sx, sy int, t transform, was, is picture, cx, cy int) (u, v float64) {
	n := 0.0
	for y := cy << sy; y < min((cy+1)<<sy, is.height); y++ {
		for x := cx << sx; x < min((cx+1)<<sx, is.width); x++ {
			_, du, dv := t.change(was.at(x, y), is.at(x, y))
			u, v, n = u+du, v+dv, n+1
		}
	}
	return u / n, v / n
}

func (f field) setChroma(x, y int, u, v uint16) {
	if f.info.SemiPlanar {
		f.set(1, 2*x, y, u)
		f.set(1, 2*x+1, y, v)
		return
	}
	f.set(1, x, y, u)
	f.set(2, x, y, v)
}
