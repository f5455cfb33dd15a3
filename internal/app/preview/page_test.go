package preview

import (
	"bytes"
	"image"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPageFits: pictures are coded as well as the page's size allows, and cut to their middle
// before noise would be lost.
func TestPageFits(t *testing.T) {
	noise := func() image.Image {
		m := image.NewRGBA(image.Rect(0, 0, 240, 160))
		for i := range m.Pix {
			m.Pix[i] = byte(100 + rand.IntN(60))
			if i%4 == 3 {
				m.Pix[i] = 255
			}
		}
		return m
	}
	p := Page{Title: "t", Variants: []Variant{{Command: "c"}}}
	for range 3 {
		p.Samples = append(p.Samples, Sample{Before: noise(), After: []image.Image{noise()}})
	}
	whole := 0
	for _, c := range []struct {
		most int
		size string
	}{
		{MostBytes, `width="240" height="160"`},
		{300_000, `width="240" height="160"`},
		{50_000, `width="168" height="112"`},
		{1_000, `width="36" height="24"`}, // at least this
	} {
		var b bytes.Buffer
		if err := write(&b, p, c.most); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		if n := strings.Count(page, c.size); n != 6 {
			t.Errorf("%d bytes: %d pictures have %s", c.most, n, c.size)
		}
		if cut := strings.Contains(page, "The middle of the frames"); cut != (c.most <= 50_000) {
			t.Errorf("%d bytes: the page says that pictures are cut: %v", c.most, cut)
		}
		if !strings.Contains(page, ` src="data:image/jpeg;base64,/9j/`) || strings.Contains(page, "&#43;") {
			t.Errorf("%d bytes: a picture is not in the page as it was counted", c.most)
		}
		if whole == 0 {
			whole = b.Len()
		} else if c.most == 300_000 && (b.Len() > c.most || b.Len() < c.most/2) {
			t.Errorf("the page has %d bytes of %d, and %d without a limit", b.Len(), c.most, whole)
		}
	}
}
