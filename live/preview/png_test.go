package preview

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// TestPNG checks the colours and the turn of both pictures, by a marked corner.
func TestPNG(t *testing.T) {
	frame := func(corner byte) *pipeline.Frame {
		data := bytes.Repeat([]byte{10, 20, 30, 0}, 3*2)
		copy(data, []byte{corner, 0, 0, 0}) // top left
		format := pipeline.Format{Layout: pipeline.RGBA, Width: 3, Height: 2, FullRange: true}
		return pipeline.NewFrame(format, [4]pipeline.Plane{{Data: data, Pitch: 12}}, nil, nil)
	}
	for turn, corner := range map[int][2]int{0: {0, 0}, 90: {1, 0}, 180: {2, 1}, 270: {0, 2}} {
		b, err := PNG(3, 2, turn, frame(100), frame(200))
		e2e.Must(t, err)
		m, err := png.Decode(bytes.NewReader(b))
		e2e.Must(t, err)
		w := 3
		if turn%180 != 0 {
			w = 2
		}
		if m.Bounds().Dx() != 2*w || m.Bounds().Dy() != 5-w {
			t.Errorf("turned by %d: %v", turn, m.Bounds())
		}
		for y := range m.Bounds().Dy() {
			for x := range 2 * w {
				want := color.NRGBA{10, 20, 30, 255}
				if x%w == corner[0] && y == corner[1] {
					want = color.NRGBA{byte(100 * (1 + x/w)), 0, 0, 255}
				}
				if got := color.NRGBAModel.Convert(m.At(x, y)); got != want {
					t.Errorf("turned by %d: (%d, %d) is %v, not %v", turn, x, y, got, want)
				}
			}
		}
	}
}
