package quality

import (
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"vidfilter/denoise/plane"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

const (
	cropWidth   = 120
	cropHeight  = 100
	footageCrop = 2 // times the size of the others
	cropMagnify = 2
	cropGap     = 4
)

// crops draws a picture of each clip: clean, noisy, ours, the best rival on this clip.
func (r *run) crops(k NoiseKind, all []*noisyClip) error {
	for _, c := range all {
		shown := c.shown()
		rows := []*pipeline.Frame{c.frames[shown], c.noisy[shown], c.results[Good]}
		if best, ok := r.report.bestRival(k.Name, c.name); ok {
			rows = append(rows, c.results[best.Method])
		}
		at := changed(c.frames[shown], c.frames[max(shown-1, 0)], cropWidth, cropHeight)
		if err := writeCrops(r.Crops, c.name+"-"+k.Name, rows, at); err != nil {
			return err
		}
	}
	return nil
}

// crops draws a picture of the middle target: untouched, ours, the best rival. It is where ours
// changes most, or the rival if ours makes no change.
func (f *footage) crops(folder string) error {
	rows := []*pipeline.Frame{f.looks[Untouched], f.looks[Good]}
	if best, ok := f.bestRival(0); ok {
		rows = append(rows, f.looks[best.Method])
	}
	w, h := footageCrop*cropWidth, footageCrop*cropHeight
	var at image.Rectangle
	for _, other := range rows[1:] {
		if at = changed(rows[0], other, w, h); f.result(Good).Removed > 0 {
			break
		}
	}
	return writeCrops(folder, f.Clip, rows, at)
}

// changed returns the crop where two frames differ most, the middle if they are equal.
func changed(f, other *pipeline.Frame, width, height int) image.Rectangle {
	w, h := min(width, f.Width), min(height, f.Height)
	best, most := image.Rect(0, 0, w, h).Add(image.Pt((f.Width-w)/2, (f.Height-h)/2)), float32(0)
	a, b := lumaOf(f), lumaOf(other)
	for y0 := 0; y0+h <= f.Height; y0 += 20 {
		for x0 := 0; x0+w <= f.Width; x0 += 20 {
			sum := float32(0)
			for y := y0; y < y0+h; y += 2 {
				p, q := a.row(y), b.row(y)
				for x := x0; x < x0+w; x += 2 {
					sum += max(p[x]-q[x], q[x]-p[x])
				}
			}
			if sum > most {
				best, most = image.Rect(x0, y0, x0+w, y0+h), sum
			}
		}
	}
	return best
}

func writeCrops(folder, name string, frames []*pipeline.Frame, at image.Rectangle) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	name = strings.NewReplacer("/", "-", " ", "-").Replace(name) + ".png"
	return measure.WritePNG(filepath.Join(folder, name), sideBySide(frames, at))
}

func sideBySide(frames []*pipeline.Frame, at image.Rectangle) *image.RGBA {
	w, h := at.Dx()*cropMagnify, at.Dy()*cropMagnify
	out := image.NewRGBA(image.Rect(0, 0, len(frames)*(w+cropGap)-cropGap, h))
	for i, f := range frames {
		left, pic := i*(w+cropGap), plane.Of(f, plane.Whole)
		for y := range h {
			for x := range w {
				out.Set(left+x, y, colourAt(f, pic, at.Min.X+x/cropMagnify, at.Min.Y+y/cropMagnify))
			}
		}
	}
	return out
}

// colourAt converts a sample: G, B and R, or Y and by BT.709 U and V.
func colourAt(f *pipeline.Frame, pic plane.Picture, x, y int) color.RGBA {
	var s [3]float64
	for i, p := range pic.Planes {
		at := p.At(x, y)
		if i > 0 {
			at = p.At(x>>pic.ShiftX, y>>pic.ShiftY)
		}
		s[i] = float64(at) / float64(p.Unit())
	}
	b := func(v float64) uint8 { return uint8(min(max(v+0.5, 0), 255)) }
	if f.Layout.Info().RGB {
		return color.RGBA{b(s[2]), b(s[0]), b(s[1]), 255}
	}
	l, u, v := s[0], s[1]-128, s[2]-128
	if len(pic.Planes) == 1 {
		u, v = 0, 0
	}
	if !f.FullRange {
		l, u, v = 255./219*(l-16), 255./224*u, 255./224*v
	}
	return color.RGBA{b(l + 1.5748*v), b(l - 0.1873*u - 0.4681*v), b(l + 1.8556*u), 255}
}
