package decode

import "testing"

func TestDefaultMaxPixels(t *testing.T) {
	if n := DefaultMaxPixels(); n < 1<<19 || n > largestPicture {
		t.Errorf("%d pixels", n)
	}
}
