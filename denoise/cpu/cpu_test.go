package cpu

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

var tiers = map[string]denoise.Tier{"fast": denoise.Fast, "good": denoise.Good, "best": denoise.Best}

// workers shares work among n goroutines.
func workers(n int) func(int, func(int)) {
	return func(count int, do func(int)) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
					do(i)
				}
			})
		}
		wg.Wait()
	}
}

func newEngine(t testing.TB, isa string, threads int) *Engine {
	t.Helper()
	e, err := New(isa, threads, workers(threads))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		if n := e.heap.held.Load(); n != 0 {
			t.Errorf("%d bytes were not released", n)
		}
	})
	return e
}

const canary = 0xa5

// newFrame returns a frame with canaries around each plane and in its padding.
func newFrame(format pipeline.Format) *pipeline.Frame {
	var planes [4]pipeline.Plane
	for i := range format.NumPlanes() {
		w, h := format.PlaneSize(i)
		pitch := w + 7
		data := make([]byte, pitch*(h+2))
		for k := range data {
			data[k] = canary
		}
		planes[i] = pipeline.Plane{Data: data[pitch:], Pitch: pitch}
	}
	return pipeline.NewFrame(format, planes, nil, nil)
}

func checkCanaries(t *testing.T, f *pipeline.Frame) {
	t.Helper()
	for i := range f.NumPlanes() {
		p := f.Planes[i]
		w, h := f.PlaneSize(i)
		for k, v := range p.Data {
			if (k%p.Pitch >= w || k/p.Pitch >= h) && v != canary {
				t.Fatalf("plane %d: byte %d, beyond the samples, was written", i, k)
			}
		}
	}
}

// clip returns noisy frames of a moving texture with another one that stands still to the right.
func clip(format pipeline.Format, frames int, sigma float64) (all []*pipeline.Frame) {
	sx, sy := format.ChromaShift()
	still := denoisetest.Texture(2)
	for t := range frames {
		moving := denoisetest.Texture(1).Moved(1.5*float64(t), -0.5*float64(t))
		scene := moving.Left(float64(format.Width)*0.7, still)
		pic := denoisetest.NoisyPicture(scene.Picture(format.Width, format.Height, 8, sx, sy), sigma, uint64(t))
		f := newFrame(format)
		pic.Into(f)
		all = append(all, f)
	}
	return all
}

// picture copies a field as the reference reads it.
func picture(f *pipeline.Frame, field Field) plane.Picture {
	parts, err := components(f, field)
	if err != nil {
		panic(err)
	}
	var pic plane.Picture
	pic.ShiftX, pic.ShiftY = f.ChromaShift()
	for _, c := range parts {
		p := plane.New(c.width, c.height, 8)
		for y := range c.height {
			for x := range c.width {
				p.Row(y)[x] = uint16(c.data[y*c.pitch+x*c.step])
			}
		}
		pic.Planes = append(pic.Planes, p)
	}
	return pic
}

// filterField filters frame centre of a clip into out.
func filterField(t testing.TB, e *Engine, out *pipeline.Frame, frames []*pipeline.Frame, field Field, centre int, m noise.Model, s denoise.Settings) {
	t.Helper()
	var window []*Frame
	for _, f := range frames {
		w, err := e.Prepare(f, field)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Release()
		window = append(window, w)
	}
	if err := e.Filter(out, window, centre, m, s); err != nil {
		t.Fatal(err)
	}
}

// compare checks a result against the reference's: within a level in 99.9 % of samples, and within
// two everywhere.
func compare(t *testing.T, what string, got, want plane.Picture) {
	t.Helper()
	for i, w := range want.Planes {
		apart, far, most, differ := 0, 0, 0, 0
		for k, v := range w.Pix {
			d := int(got.Planes[i].Pix[k]) - int(v)
			d = max(d, -d)
			most = max(most, d)
			if d > 0 {
				differ++
			}
			if d > 1 {
				apart++
			}
			if d > 2 {
				far++
			}
		}
		if testing.Verbose() {
			t.Logf("%s, plane %d: %d of %d differ, by %d at the most", what, i, differ, len(w.Pix), most)
		}
		if far > 0 || apart > len(w.Pix)/1000 {
			t.Errorf("%s, plane %d: %d of %d samples are more than a level apart, %d more than two, at most %d",
				what, i, apart, len(w.Pix), far, most)
		}
	}
}

// coloured is a model with a spectrum and a curve.
func coloured(sigma float64) noise.Model {
	m := noise.Flat(sigma)
	for c := range m.Spectrum {
		for k := range m.Spectrum[c] {
			m.Spectrum[c][k] *= 1.6 / (1 + 0.1*float32(k/8) + 0.15*float32(k%8))
		}
	}
	for i := range m.Curve {
		m.Curve[i] = 0.6 + 0.8*float32(i)/255
	}
	return m
}

type expectation struct {
	format pipeline.Format
	frames []*pipeline.Frame
	field  Field
	centre int
	model  noise.Model
	s      denoise.Settings
}

func (x expectation) check(t *testing.T, name string) {
	t.Helper()
	var window []plane.Picture
	for _, f := range x.frames {
		window = append(window, picture(f, x.field))
	}
	want := denoise.Reference(window, x.centre, x.model, x.s)
	for _, isa := range ISAs() {
		out := newFrame(x.format)
		filterField(t, newEngine(t, isa, 2), out, x.frames, x.field, x.centre, x.model, x.s)
		compare(t, name+", "+isa, picture(out, x.field), want)
		checkCanaries(t, out)
	}
}

func TestAgainstReference(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12} {
		format := pipeline.Format{Layout: layout, Width: 93, Height: 71}
		for name, tier := range tiers {
			for _, sigma := range []float64{5, 20} {
				x := expectation{format: format, frames: clip(format, 13, sigma), centre: 6, model: coloured(sigma), s: denoise.Default(tier)}
				x.check(t, fmt.Sprint(layout, ", ", name, ", sigma ", sigma))
			}
		}
	}
}
