package live

import "testing"

func TestDisplaySize(t *testing.T) {
	for _, c := range []struct {
		d    Display
		w, h int
	}{
		{Display{}, 640, 360}, {Display{180, 1}, 640, 360}, {Display{90, 1}, 360, 640}, {Display{270, 0}, 360, 640},
		{Display{0, 64.0 / 45}, 910, 360}, {Display{0, 0.5}, 640, 720}, {Display{90, 2}, 360, 1280},
	} {
		if w, h := c.d.Size(640, 360); w != c.w || h != c.h {
			t.Errorf("%+v: %dx%d instead of %dx%d", c.d, w, h, c.w, c.h)
		}
	}
}
