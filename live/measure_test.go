package live

import (
	"math"
	"testing"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// TestMeasure: components in order, of every arrangement and depth; PSNR of the window and of the
// whole; a histogram of all samples.
func TestMeasure(t *testing.T) {
	for _, layout := range pipeline.Layouts() {
		f := pipeline.Format{Layout: layout, Width: 100, Height: 80}
		info := layout.Info()
		frame := func(value int) *pipeline.Frame {
			var planes [4]pipeline.Plane
			size := 1 + (info.Depth-1)/8
			for i := range f.NumPlanes() {
				w, h := f.PlaneSize(i)
				planes[i] = pipeline.Plane{Data: make([]byte, 4*size*w*h), Pitch: 4 * size * w}
				for n := 0; n < len(planes[i].Data); n += size {
					v := (value + i*3) << info.Shift
					if info.Samples > 1 {
						v += n % 4
					}
					planes[i].Data[n] = byte(v)
					if size == 2 {
						planes[i].Data[n+1] = byte(v >> 8)
					}
				}
			}
			return pipeline.NewFrame(f, planes, nil, nil)
		}
		m := MeasureAt(&Pair{Original: frame(20), Filtered: frame(24)}, 0.5, 2, 16)
		peak := float64(int(1)<<info.Depth - 1)
		if want := 20 * math.Log10(peak/4); math.Abs(m.PSNR-want) > 1e-9 || math.Abs(m.Whole-want) > 1e-9 {
			t.Errorf("%v: PSNR %g and %g, not %g", layout, m.PSNR, m.Whole, want)
		}
		if m.X != 50 || m.Y != 79 || m.Depth != info.Depth || len(m.Left) != len(m.Names) || len(m.Right) != len(m.Names) {
			t.Errorf("%v: %+v", layout, m)
		}
		sum := 0
		for _, n := range m.Bars[0] {
			sum += n
		}
		if sum != 8000 {
			t.Errorf("%v: the histogram has %d samples", layout, sum)
		}
		for i, v := range m.Right {
			if v != m.Left[i]+4 {
				t.Errorf("%v: component %s is %d, not %d", layout, m.Names[i], v, m.Left[i]+4)
			}
		}
		if e := MeasureAt(&Pair{Original: frame(20), Filtered: frame(20)}, math.NaN(), -1, 16); e.PSNR != -1 || e.X != 0 || e.Y != 0 {
			t.Errorf("%v: equal pictures have %+v", layout, e)
		}
	}
}

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
