package denoise

import (
	"fmt"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
)

// turns are the ways to look at a picture. Each undoes itself.
var turns = map[string]func(plane.Picture) plane.Picture{
	"left and right": func(pic plane.Picture) plane.Picture {
		return mapped(pic, func(p plane.Plane) plane.Plane {
			return drawn(p, p.Width, p.Height, func(x, y int) int { return p.At(p.Width-1-x, y) })
		})
	},
	"top and bottom": func(pic plane.Picture) plane.Picture {
		return mapped(pic, func(p plane.Plane) plane.Plane {
			return drawn(p, p.Width, p.Height, func(x, y int) int { return p.At(x, p.Height-1-y) })
		})
	},
	"rows and columns": func(pic plane.Picture) plane.Picture {
		return mapped(pic, func(p plane.Plane) plane.Plane {
			return drawn(p, p.Height, p.Width, func(x, y int) int { return p.At(y, x) })
		})
	},
}

func mapped(pic plane.Picture, f func(plane.Plane) plane.Plane) plane.Picture {
	out := pic
	out.Planes = nil
	for _, p := range pic.Planes {
		out.Planes = append(out.Planes, f(p))
	}
	return out
}

func drawn(like plane.Plane, width, height int, at func(x, y int) int) plane.Plane {
	out := plane.New(width, height, like.Depth)
	for i := range out.Pix {
		out.Pix[i] = uint16(at(i%width, i/width))
	}
	return out
}

func cropped(pic plane.Picture, left, top, width, height int) plane.Picture {
	return mapped(pic, func(p plane.Plane) plane.Plane {
		return drawn(p, width, height, func(x, y int) int { return p.At(left+x, top+y) })
	})
}

func each(all []plane.Picture, f func(plane.Picture) plane.Picture) (out []plane.Picture) {
	for _, p := range all {
		out = append(out, f(p))
	}
	return out
}

// apart counts the samples that differ by more than a tolerance, and returns the largest
// difference.
func apart(a, b plane.Picture, tolerance int) (count, most, samples int) {
	for i, p := range a.Planes {
		for k, v := range p.Pix {
			d := int(v) - int(b.Planes[i].Pix[k])
			most = max(most, d, -d)
			if max(d, -d) > tolerance {
				count++
			}
			samples++
		}
	}
	return count, most, samples
}

// symmetric is a size at which a tier's patches and cells lie as many samples from the left as from
// the right: cells divide it, and so do the strides once a patch is taken off.
var symmetric = map[Tier][2]int{Fast: {128, 48}, Good: {112, 64}, Best: {112, 64}}

func drawSize(size [2]int, frames int, scene func(int) denoisetest.Scene) (c clip) {
	for t := range frames {
		p := scene(t).Picture(size[0], size[1], 8, 0, 0)
		c.clean = append(c.clean, p)
		c.noisy = append(c.noisy, denoisetest.NoisyPicture(p, 10, uint64(t)))
	}
	return c
}

// views are clips that are seen from elsewhere: a frame by itself, a still, and motion.
var views = []struct {
	name   string
	frames int
	scene  func(int) denoisetest.Scene
}{{"one frame", 1, still(9)}, {"still", 3, still(9)}, {"pan", 5, pan(9)}}

// TestTurned: a mirrored or transposed clip comes out mirrored or transposed, except for the
// pattern that rounds 8 bits, so results have 10 here. Without motion one sample in 1,000 may round
// the other way because sums are taken in another order. With motion the search goes from the top
// left to the bottom right and takes the first of equally good vectors. One sample in four may then
// differ by more than half a level, but the result is as near to the scene.
func TestTurned(t *testing.T) {
	for _, view := range views {
		for tier, name := range tiers {
			c := drawSize(symmetric[tier], view.frames, view.scene)
			centre := view.frames / 2
			want := ReferenceAt(10, c.noisy, centre, noise.Flat(10), Default(tier))
			for way, turn := range turns {
				got := turn(ReferenceAt(10, each(c.noisy, turn), centre, noise.Flat(10), Default(tier)))
				what := fmt.Sprintf("%s, %s, %s", view.name, name, way)
				tolerance := 0
				if view.name == "pan" {
					tolerance = 2
				}
				count, most, samples := apart(got, want, tolerance)
				t.Logf("%s: %d of %d samples differ, by %d at most", what, count, samples, most)
				if view.name == "pan" {
					noWorse(t, what, 0.1, c.clean[centre], got, want)
					if count*4 > samples {
						t.Errorf("%s: %d of %d samples differ", what, count, samples)
					}
				} else if count*1000 > samples || most > 1 {
					t.Errorf("%s: %d of %d samples differ, by %d at most", what, count, samples, most)
				}
			}
		}
	}
}

// TestCropped: 24 samples away from its edges, a part of a picture has the bits of the whole, if it
// begins where cells and patches do.
func TestCropped(t *testing.T) {
	const margin, size, inner = 24, 96, 96 - 2*24
	gray := func(p plane.Picture) plane.Picture { return plane.Picture{Planes: p.Planes[:1]} }
	for _, view := range views {
		for tier, name := range map[Tier]string{Fast: "fast", Good: "good"} { // best differs from good in time alone
			start := map[Tier]int{Fast: 80, Good: 48}[tier] // multiples of cells and strides
			c := drawSize([2]int{start + size, start + size}, view.frames, view.scene)
			whole := each(c.noisy, gray)
			part := each(whole, func(p plane.Picture) plane.Picture { return cropped(p, start, start, size, size) })
			filtered := func(window []plane.Picture, at int) plane.Picture {
				return cropped(Reference(window, view.frames/2, noise.Flat(10), Default(tier)), at, at, inner, inner)
			}
			if count, most, samples := apart(filtered(part, margin), filtered(whole, start+margin), 0); count > 0 {
				t.Errorf("%s, %s: %d of %d samples differ, by %d at most", view.name, name, count, samples, most)
			}
		}
	}
}
