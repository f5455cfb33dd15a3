package repair

import (
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// picture is a frame or one of its fields. The first plane is luma or green.
type picture struct {
	plane.Picture
	search searched // the first plane, prepared
}

// componentsOf returns the components of a frame or a field in this order: Y, U and V, or Y alone,
// or G, B and R.
func componentsOf(f *pipeline.Frame, field plane.Field) (all []plane.Component) {
	for i := range plane.Components(f.Layout) {
		if f.Layout.Info().Samples > 1 { // R, G, B and A in turn
			i = [...]int{1, 2, 0}[i]
		}
		all = append(all, plane.ComponentOf(f, field, i))
	}
	return all
}

// fits reports whether the planes of a picture have the sizes of the components.
func (p *picture) fits(parts []plane.Component) bool {
	for i, c := range parts {
		if p.Planes[i].Width != c.Width || p.Planes[i].Height != c.Height {
			return false
		}
	}
	return true
}

// read copies the components into the planes, which it allocates on first use.
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

// each calls do for 0..n-1 in any order, maybe concurrently, and waits for all calls.
type each func(n int, do func(i int))

const stripRows = 64 // a multiple of cellSide

func strips(height int) int { return (height + stripRows - 1) / stripRows }
