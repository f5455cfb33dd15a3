package repair

import (
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// picture is a frame, or one of its fields. Its first plane is luma, or green.
type picture struct {
	plane.Picture
	search searched // of the first plane
}

// componentsOf returns where the planes of a picture are in a frame: Y, U and V, or Y, or G, B and
// R.
func componentsOf(f *pipeline.Frame, field plane.Field) (all []plane.Component) {
	info := f.Layout.Info()
	if !info.RGB {
		for i := range plane.Components(f.Layout) {
			all = append(all, plane.ComponentOf(f, field, i))
		}
		return all
	}
	for i := range 3 {
		size := info.SampleBytes()
		at, offset, step := i, 0, size
		if info.Planes == 1 { // R, G, B and A in turn
			at, offset, step = 0, [...]int{1, 2, 0}[i]*size, info.Samples*size
		}
		first, every, n, own := field.Rows(f.Height)
		p := f.Planes[at]
		all = append(all, plane.Component{
			Data: p.Data[first*p.Pitch+offset:], Pitch: every * p.Pitch, Step: step,
			Depth: info.Depth, Shift: info.Shift, Width: f.Width, Height: n, Own: own,
		})
	}
	return all
}

// fits reports whether a picture has room for components.
func (p *picture) fits(parts []plane.Component) bool {
	for i, c := range parts {
		if p.Planes[i].Width != c.Width || p.Planes[i].Height != c.Height {
			return false
		}
	}
	return true
}

// read sets the samples of a picture.
func (p *picture) read(parts []plane.Component, each each) {
	if len(p.Planes) == 0 {
		for _, c := range parts {
			p.Planes = append(p.Planes, plane.New(c.Width, c.Height, c.Depth))
		}
	}
	for i := range parts {
		each(strips(parts[i].Height), func(k int) {
			for y := k * stripRows; y < min((k+1)*stripRows, parts[i].Height); y++ {
				parts[i].Read(p.Planes[i].Row(y), 0, y)
			}
		})
	}
}

// each calls do for 0..n-1, in any order, and returns when all calls have.
type each func(n int, do func(i int))

const stripRows = 64 // a multiple of the side of a cell

func strips(height int) int { return (height + stripRows - 1) / stripRows }
