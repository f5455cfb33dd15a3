package live

import (
	"testing"

	"vidfilter/kernels"
)

// TestNoiseInABox: all pictures are filtered by the noise of a box, until each is measured again.
func TestNoiseInABox(t *testing.T) {
	r := start(t, Options{Input: Input{Name: "test", Kind: Test, Open: OpenPattern(PatternOptions{Width: 160, Height: 96, FPS: 30})}, Filter: FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto")})
	w := r.Watch(1)
	defer w.Close()
	r.next(w).Release()
	if _, err := r.MeasureNoise(r.ctx, 0.5, 0.5, 0.1, 0.4); err == nil {
		t.Error("a box of 16x38 is measured")
	}
	if _, err := r.MeasureNoise(r.ctx, 0.25, 0, 0.75, 2); err != nil {
		t.Fatal(err)
	}
	known := func() bool {
		st, _ := r.State()
		return kernels.Of[kernels.Denoise](st.Filter.Selection).Known != nil
	}
	for r.Noise() == nil || !r.Noise().Boxed || r.Noise().Luma == 0 {
		r.next(w).Release()
	}
	if n := r.Noise(); !known() || n.Spectrum[0] == 0 || n.Spectrum[13] == 0 {
		t.Errorf("%+v", n)
	}
	if err := r.MeasureEach(); err != nil || known() || r.Noise().Boxed {
		t.Errorf("%v, %+v", err, r.Noise())
	}
}
