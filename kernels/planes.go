package kernels

import "vidfilter/pipeline"

// planesOf stores words into a field's planes.
func planesOf(out field, t transform, p picture) {
	if out.layout == pipeline.RGBA {
		storeRGBA(out, p)
		return
	}
	luma := out.planes[0]
	for y := range out.height {
		for x := range out.width {
			c := channels(p.at(x, y))
			l, _, _ := t.yuv(c[0], c[1], c[2])
			luma.Data[y*luma.Pitch+x] = level(l)
		}
	}
	sx, _ := pipeline.Format{Layout: out.layout}.ChromaShift()
	for cy := range out.chromaWrite {
		for cx := range (out.width + 1<<sx - 1) >> sx {
			u, v := meanChroma(out.layout, t, p, cx, cy)
			out.setChroma(cx, cy, level(u), level(v))
		}
	}
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

// meanChroma returns the mean of U and V, not rounded, over the pixels that exist of those that the chroma
// sample covers.
func meanChroma(l pipeline.Layout, t transform, p picture, cx, cy int) (u, v float64) {
	sx, sy := pipeline.Format{Layout: l}.ChromaShift()
	n := 0.0
	for y := cy << sy; y < min((cy+1)<<sy, p.height); y++ {
		for x := cx << sx; x < min((cx+1)<<sx, p.width); x++ {
			c := channels(p.at(x, y))
			_, pu, pv := t.yuv(c[0], c[1], c[2])
			u, v, n = u+pu, v+pv, n+1
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

// keepSamples copies the input's samples where the border skip leaves them; see keptOutside.
func keepSamples(out, in field, radius int) {
	format := pipeline.Format{Layout: in.layout, Width: in.width, Height: in.height}
	for i := range format.NumPlanes() {
		sx, sy, rows, bytes := 0, 0, in.height, 1
		if i > 0 {
			sx, sy = format.ChromaShift()
			rows = in.chromaWrite
		}
		switch {
		case in.layout == pipeline.RGBA:
			bytes = 4
		case in.layout == pipeline.NV12 && i == 1:
			bytes = 2
		}
		x0, y0, x1, y1 := keptOutside(in.width, in.height, radius, sx, sy)
		width := (in.width + 1<<sx - 1) >> sx * bytes
		for y := range rows {
			from := in.planes[i].Data[y*in.planes[i].Pitch:]
			to := out.planes[i].Data[y*out.planes[i].Pitch:]
			for x := range width {
				if y < y0 || y >= y1 || x < x0*bytes || x >= x1*bytes {
					to[x] = from[x]
				}
			}
		}
	}
}
