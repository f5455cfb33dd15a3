package kernels

import "vidfilter/pipeline"

// planesOf makes a field's planes: it adds the filter's changes, from the words was to is, to the
// samples of in.
func planesOf(out, in field, t transform, was, is picture) {
	if out.layout == pipeline.RGBA {
		storeRGBA(out, is)
		return
	}
	luma := out.planes[0]
	eachRow(out.height, func(y int) {
		for x := range out.width {
			l, _, _ := t.change(was.at(x, y), is.at(x, y))
			luma.Data[y*luma.Pitch+x] = level(float64(in.sample(0, x, y)) + l)
		}
	})
	sx, sy := pipeline.Format{Layout: out.layout}.ChromaShift()
	eachRow(out.chromaWrite, func(cy int) {
		for cx := range (out.width + 1<<sx - 1) >> sx {
			u, v := in.chroma(cx<<sx, cy<<sy)
			du, dv := meanChange(out.layout, t, was, is, cx, cy)
			out.setChroma(cx, cy, level(float64(u)+du), level(float64(v)+dv))
		}
	})
}

func storeRGBA(out field, p picture) {
	for y := range out.height {
		for x := range out.width {
			w := p.at(x, y)
			to := out.planes[0].Data[y*out.planes[0].Pitch+4*x:]
			to[0], to[1], to[2], to[3] = uint8(w), uint8(w>>8), uint8(w>>16), uint8(w>>24)
		}
	}
}

// change returns the difference between two words in Y, U and V.
func (t transform) change(was, is uint32) (y, u, v float64) {
	from, to := channels(was), channels(is)
	y0, u0, v0 := t.yuv(from[0], from[1], from[2])
	y1, u1, v1 := t.yuv(to[0], to[1], to[2])
	return y1 - y0, u1 - u0, v1 - v0
}

// meanChange returns the mean change of U and V over the existing pixels that the chroma sample
// covers.
func meanChange(l pipeline.Layout, t transform, was, is picture, cx, cy int) (u, v float64) {
	sx, sy := pipeline.Format{Layout: l}.ChromaShift()
	n := 0.0
	for y := cy << sy; y < min((cy+1)<<sy, is.height); y++ {
		for x := cx << sx; x < min((cx+1)<<sx, is.width); x++ {
			_, du, dv := t.change(was.at(x, y), is.at(x, y))
			u, v, n = u+du, v+dv, n+1
		}
	}
	return u / n, v / n
}

func (f field) setChroma(x, y int, u, v uint8) {
	if f.layout == pipeline.NV12 {
		to := f.planes[1].Data[y*f.planes[1].Pitch+2*x:]
		to[0], to[1] = u, v
		return
	}
	f.planes[1].Data[y*f.planes[1].Pitch+x] = u
	f.planes[2].Data[y*f.planes[2].Pitch+x] = v
}
