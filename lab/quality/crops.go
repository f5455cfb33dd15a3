package quality

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"vidfilter/lab/quality/clips"
	"vidfilter/pipeline"
)

const (
	shown       = (clips.First + clips.Last + 1) / 2 // the frame of the crops
	cropWidth   = 120
	cropHeight  = 100
	cropMagnify = 2
	cropGap     = 4
)

// crops draws a picture of each clip: clean, noisy, ours, the best rival on this clip.
func (r *run) crops(k Kind, all []*noisyClip) error {
	if err := os.MkdirAll(r.Crops, 0o777); err != nil {
		return err
	}
	for _, c := range all {
		rows := []*pipeline.Frame{c.frames[shown], c.noisy[shown], c.results[Good]}
		if best, ok := r.report.bestRival(k.Name, c.name); ok {
			rows = append(rows, c.results[best.Method])
		}
		place := busiest(c.frames[shown], c.frames[shown-1])
		name := strings.NewReplacer("/", "-", " ", "-").Replace(c.name + "-" + k.Name + ".png")
		if err := writePNG(filepath.Join(r.Crops, name), sideBySide(rows, place)); err != nil {
			return err
		}
	}
	return nil
}

// busiest returns the crop where most changes from the frame before, the middle if nothing does.
func busiest(f, before *pipeline.Frame) image.Point {
	w, h := min(cropWidth, f.Width), min(cropHeight, f.Height)
	best, most := image.Pt((f.Width-w)/2, (f.Height-h)/2), 0
	for y0 := 0; y0+h <= f.Height; y0 += 20 {
		for x0 := 0; x0+w <= f.Width; x0 += 20 {
			sum := 0
			for y := y0; y < y0+h; y += 2 {
				a, b := f.Row(0, y), before.Row(0, y)
				for x := x0; x < x0+w; x += 2 {
					sum += max(int(a[x])-int(b[x]), int(b[x])-int(a[x]))
				}
			}
			if sum > most {
				best, most = image.Pt(x0, y0), sum
			}
		}
	}
	return best
}

func sideBySide(frames []*pipeline.Frame, at image.Point) *image.RGBA {
	w, h := min(cropWidth, frames[0].Width), min(cropHeight, frames[0].Height)
	out := image.NewRGBA(image.Rect(0, 0, len(frames)*(w*cropMagnify+cropGap)-cropGap, h*cropMagnify))
	for i, f := range frames {
		left := i * (w*cropMagnify + cropGap)
		for y := range h * cropMagnify {
			for x := range w * cropMagnify {
				out.Set(left+x, y, colourAt(f, at.X+x/cropMagnify, at.Y+y/cropMagnify))
			}
		}
	}
	return out
}

// colourAt converts a sample of BT.709, limited range.
func colourAt(f *pipeline.Frame, x, y int) color.RGBA {
	l := 1.1644 * (float64(f.Row(0, y)[x]) - 16)
	u, v := float64(f.Row(1, y/2)[x/2])-128, float64(f.Row(2, y/2)[x/2])-128
	b := func(v float64) uint8 { return uint8(min(max(v+0.5, 0), 255)) }
	return color.RGBA{b(l + 1.7927*v), b(l - 0.2132*u - 0.5329*v), b(l + 2.1124*u), 255}
}

func writePNG(name string, m image.Image) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := png.Encode(f, m); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
