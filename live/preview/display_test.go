package preview

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
	"vidfilter/pipeline"
)

// Single pictures are upright with square pixels, and a split picture has a vertical line.
func TestUpright(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.YUV422P} {
		camera := livetest.NewCamera(t, pipeline.Format{Layout: layout, Width: 64, Height: 32, Matrix: pipeline.BT601})
		// The original is darker than the filtered picture. Both are darker on the left.
		shade := func(base byte) *pipeline.Frame {
			return camera.Frame(func(plane, x, _ int) byte {
				switch {
				case plane > 0:
					return 128
				case x < 32:
					return base
				}
				return base + 40
			})
		}
		original, filtered := shade(40), shade(150)
		for _, c := range []struct {
			d             pipeline.Display
			width, height int
			dark, bright  image.Point // in the halves of the picture
		}{
			{pipeline.Display{Turn: 90}, 32, 64, image.Pt(4, 8), image.Pt(4, 56)},
			{pipeline.Display{Turn: 270, Aspect: 2}, 32, 128, image.Pt(4, 112), image.Pt(4, 16)},
			{pipeline.Display{Turn: 180}, 64, 32, image.Pt(60, 8), image.Pt(8, 8)},
			{pipeline.Display{Aspect: 2}, 128, 32, image.Pt(16, 8), image.Pt(120, 8)},
		} {
			for view, least := range map[View]int{ViewOriginal: 20, ViewFiltered: 130, ViewSplit: 20} {
				p, err := New(Options{Kind: JPEG, View: view, Display: c.d, BitRate: 30e6})
				e2e.Must(t, err)
				packet, err := p.Encode(original, filtered, Stamp{}, true)
				e2e.Must(t, err)
				got, err := jpeg.Decode(bytes.NewReader(packet.Data))
				e2e.Must(t, err)
				p.Close()
				light := func(at image.Point) int { return int(got.(*image.YCbCr).YCbCrAt(at.X, at.Y).Y) }
				if got.Bounds().Size() != image.Pt(c.width, c.height) {
					t.Errorf("%v, %+v: %v", layout, c.d, got.Bounds())
					continue
				}
				dark, bright, left, right := light(c.dark), light(c.bright), light(image.Pt(4, c.dark.Y)), light(image.Pt(c.width-4, c.dark.Y))
				switch {
				case view == ViewSplit && right < left+60:
					t.Errorf("%v, %+v: %d left of the line, %d right of it", layout, c.d, left, right)
				case view != ViewSplit && (dark < least || dark > least+50 || bright < dark+20):
					t.Errorf("%v, %+v, view %d: %d at %v, %d at %v", layout, c.d, view, dark, c.dark, bright, c.bright)
				}
			}
		}
		original.Release()
		filtered.Release()
	}
}
