package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

var tiers = map[string]denoise.Tier{"fast": denoise.Fast, "good": denoise.Good, "best": denoise.Best}

func newEngine(t testing.TB, isaName string, threads int) *Engine {
	t.Helper()
	set, err := isa.Find(isaName)
	e2e.Must(t, err)
	e := New(set, e2e.Workers(threads))
	t.Cleanup(func() {
		e.Idle()
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
		pic := denoisetest.NoisyPicture(scene.Picture(format.Width, format.Height, format.Layout.Info().Depth, sx, sy), sigma, uint64(t))
		f := newFrame(format)
		pic.Into(f, plane.Whole)
		all = append(all, f)
	}
	return all
}

// filterField filters frame centre of a clip into out.
func filterField(t testing.TB, e *Engine, out *pipeline.Frame, frames []*pipeline.Frame, field plane.Field, centre int, m noise.Model, s denoise.Settings) {
	t.Helper()
	var window []*frame
	for _, f := range frames {
		w, err := e.prepare(f, field)
		e2e.Must(t, err)
		defer w.Release()
		window = append(window, w)
	}
	e2e.Must(t, e.filter(out, window, centre, m, s))
}

// compare checks a result against the reference's: within a level in 99.9 % of samples, and within
// two everywhere. From 11 bits on these are levels of 10 bits.
func compare(t *testing.T, what string, got, want plane.Picture) {
	t.Helper()
	for i, w := range want.Planes {
		level := 1 << max(w.Depth-10, 0)
		apart, far, most, differ := 0, 0, 0, 0
		for k, v := range w.Pix {
			d := int(got.Planes[i].Pix[k]) - int(v)
			d = max(d, -d)
			most = max(most, d)
			if d > 0 {
				differ++
			}
			if d > level {
				apart++
			}
			if d > 2*level {
				far++
			}
		}
		if testing.Verbose() {
			t.Logf("%s, plane %d: %d of %d differ, by %d at the most", what, i, differ, len(w.Pix), most)
		}
		if far > 0 || apart > len(w.Pix)/1000 {
			t.Errorf("%s, plane %d: %d of %d samples are more than %d apart, %d more than twice that, at most %d",
				what, i, apart, len(w.Pix), level, far, most)
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
	field  plane.Field
	centre int
	model  noise.Model
	s      denoise.Settings
}

func (x expectation) check(t *testing.T, name string) {
	t.Helper()
	var window []plane.Picture
	for _, f := range x.frames {
		window = append(window, plane.Of(f, x.field))
	}
	want := denoise.Reference(window, x.centre, x.model, x.s)
	for _, isa := range isa.Names() {
		out := newFrame(x.format)
		filterField(t, newEngine(t, isa, 2), out, x.frames, x.field, x.centre, x.model, x.s)
		got := plane.Of(out, x.field)
		if len(got.Planes) > 1 && !plane.ComponentOf(out, x.field, 1).Own { // no own chroma rows
			got.Planes = append(got.Planes[:1], want.Planes[1:]...)
		}
		compare(t, name+", "+isa, got, want)
		checkCanaries(t, out)
	}
}

var (
	layouts = []pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.GRAY}
	depths  = []int{9, 10, 12, 14, 16}
)

// TestTooLargeSamples has samples beyond the depth: they count as the largest.
func TestTooLargeSamples(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P.At(9), pipeline.YUV422P.At(10), pipeline.YUV444P.At(14), pipeline.NV12.At(10)} {
		format := pipeline.Format{Layout: layout, Width: 67, Height: 45}
		frames := clip(format, 7, 10)
		for i, f := range frames {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			for c := range format.NumPlanes() {
				_, rows := format.PlaneSize(c)
				for range 50 {
					row := f.Row(c, r.IntN(rows))
					at := 2 * r.IntN(len(row)/2)
					row[at], row[at+1] = byte(r.Uint32()), 0xff
				}
			}
		}
		for name, tier := range tiers {
			x := expectation{format: format, frames: frames, centre: 3, model: noise.Flat(10), s: denoise.Default(tier)}
			x.check(t, fmt.Sprint(layout, ", ", name))
		}
	}
}

// TestFields filters every second row. At these heights the fields' chroma has as many rows as it
// needs, one fewer, or zero.
func TestFields(t *testing.T) {
	for i, height := range []int{72, 71, 70, 69, 3, 2} {
		for tier, layout := range map[denoise.Tier]pipeline.Layout{
			denoise.Fast: pipeline.NV12.At([]int{8, 10}[i/2%2]), denoise.Good: pipeline.YUV420P.At([]int{8, 10, 16}[i%3]),
		} {
			format := pipeline.Format{Layout: layout, Width: 45 + i, Height: height}
			for _, field := range []plane.Field{plane.Top, plane.Bottom} {
				x := expectation{format: format, field: field, frames: clip(format, 3, 10), centre: 1, model: noise.Flat(10), s: denoise.Default(tier)}
				x.check(t, fmt.Sprint(layout, ", ", height, " rows, field ", field))
			}
		}
	}
}

// TestOtherField checks that a field leaves the rows of the other one alone.
func TestOtherField(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV420P.At(10)} {
		format := pipeline.Format{Layout: layout, Width: 32, Height: 31}
		frames, out := clip(format, 3, 10), newFrame(format)
		filterField(t, newEngine(t, "", 1), out, frames, plane.Bottom, 1, noise.Flat(10), denoise.Default(denoise.Fast))
		for i := range 3 {
			_, rows := format.PlaneSize(i)
			for y := 0; y < rows; y += 2 {
				for _, v := range out.Row(i, y) {
					if v != canary {
						t.Fatalf("%v, plane %d: row %d was written", layout, i, y)
					}
				}
			}
		}
	}
}

func TestSettings(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 53, Height: 47}
	frames := clip(format, 13, 10)
	for name, change := range map[string]func(*denoise.Settings){
		"luma only":    func(s *denoise.Settings) { s.Chroma = 0 },
		"chroma only":  func(s *denoise.Settings) { s.Luma = 0 },
		"strengths":    func(s *denoise.Settings) { s.Luma, s.Chroma = 0.5, 2 },
		"temporal":     func(s *denoise.Settings) { *s = s.TemporalOnly() },
		"spatial":      func(s *denoise.Settings) { *s = s.SpatialOnly() },
		"grain":        func(s *denoise.Settings) { s.Grain = 0.4 },
		"strength 2":   func(s *denoise.Settings) { s.Strength = 2 },
		"strength 0.6": func(s *denoise.Settings) { s.Strength = 0.6 },
		"causal":       func(s *denoise.Settings) { s.Ahead = 0 },
		"no gates": func(s *denoise.Settings) {
			s.FrameGate, s.First.DCGate, s.Second.DCGate, s.ClipCurve = false, false, false, false
		},
		"other strides":  func(s *denoise.Settings) { s.First.Stride, s.Second.Stride = 3, 9 },
		"fewer searched": func(s *denoise.Settings) { s.Near, s.Far = 2, 4 },
	} {
		for tier, d := range tiers {
			s := denoise.Default(d)
			change(&s)
			x := expectation{format: format, frames: frames, centre: 6, model: noise.Flat(10), s: s}
			x.check(t, name+", "+tier)
		}
	}
}

// TestAnyNoise has noise from the least that is filtered to a great deal, at any depth, in pictures
// with and without hard edges. The second pass computes in 16 bits, in a unit that depends on the
// noise.
func TestAnyNoise(t *testing.T) {
	for i, sigma := range []float64{0.8, 1.7, 3, 7, 15, 33, 70} {
		for _, depth := range []int{8, 9, 10, 12, 16} {
			format := pipeline.Format{Layout: pipeline.GRAY.At(depth), Width: 48, Height: 40}
			frames := clip(format, 5, min(sigma, 40))
			for _, f := range frames {
				pic := plane.Of(f, plane.Whole)
				for k := range pic.Planes[0].Pix {
					if x, y := k%48, k/48; i%2 == 1 && x > 24 && y > 8 && (x/3+y/5)%2 == 0 {
						pic.Planes[0].Pix[k] = uint16(pic.Planes[0].Max() * (x / 6 % 2))
					}
				}
				pic.Into(f, plane.Whole)
			}
			m := noise.Flat(sigma)
			if depth%4 == 0 {
				m = coloured(sigma)
			}
			x := expectation{format: format, frames: frames, centre: 2, model: m, s: denoise.Default(denoise.Good)}
			x.check(t, fmt.Sprint(depth, " bits, sigma ", sigma))
		}
	}
}

func TestEndsOfClips(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV422P, Width: 41, Height: 37}
	frames := clip(format, 6, 10)
	for name, tier := range tiers {
		for _, at := range [][3]int{{0, 6, 0}, {0, 6, 5}, {0, 6, 1}, {0, 1, 0}, {2, 4, 1}} { // from, to, centre
			x := expectation{format: format, frames: frames[at[0]:at[1]], centre: at[2], model: noise.Flat(10), s: denoise.Default(tier)}
			x.check(t, fmt.Sprint(name, ", frame ", at[2], " of ", at[1]-at[0]))
		}
	}
}

// TestCut puts one frame of another scene into a clip: the frame gate leaves it out.
func TestCut(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 64, Height: 48}
	frames := clip(format, 7, 5)
	denoisetest.NoisyPicture(denoisetest.Texture(9).Plus(60).Picture(64, 48, 8, 1, 1), 5, 99).Into(frames[4], plane.Whole)
	for name, tier := range tiers {
		for _, centre := range []int{3, 4} {
			x := expectation{format: format, frames: frames, centre: centre, model: noise.Flat(5), s: denoise.Default(tier)}
			x.check(t, fmt.Sprint(name, ", frame ", centre))
		}
	}
}

func TestTinyPictures(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 3}, {7, 5}, {8, 8}, {9, 16}, {15, 17}, {16, 16}, {90, 3}} {
		for i, layout := range layouts {
			if i < 2 {
				layout = layout.At(depths[(i+size[1])%len(depths)])
			}
			format := pipeline.Format{Layout: layout, Width: size[0], Height: size[1]}
			tier := []denoise.Tier{denoise.Fast, denoise.Good, denoise.Best}[(i+size[0])%3]
			x := expectation{format: format, frames: clip(format, 3, 10), centre: 1, model: noise.Flat(10), s: denoise.Default(tier)}
			x.check(t, fmt.Sprint(format, ", tier ", tier))
		}
	}
}

func TestSameBitsOnAnyNumberOfThreads(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV420P.At(10)} {
		format := pipeline.Format{Layout: layout, Width: 230, Height: 190}
		frames := clip(format, 9, 10)
		for _, isa := range isa.Names() {
			for name, tier := range tiers {
				var want *pipeline.Frame
				for _, threads := range []int{1, 1, 2, 3, 5} {
					out := newFrame(format)
					filterField(t, newEngine(t, isa, threads), out, frames, plane.Whole, 4, noise.Flat(10), denoise.Default(tier))
					if want == nil {
						want = out
					}
					for i := range 3 {
						if !bytes.Equal(out.Planes[i].Data, want.Planes[i].Data) {
							t.Errorf("%v, %s, %s: %d threads change plane %d", layout, isa, name, threads, i)
						}
					}
				}
			}
		}
	}
}

func TestCleanIsCopied(t *testing.T) {
	for _, layout := range append(layouts, pipeline.YUV422P.At(9), pipeline.YUV420P.At(16), pipeline.NV24.At(12)) {
		format := pipeline.Format{Layout: layout, Width: 21, Height: 13}
		frames := clip(format, 3, 20)
		for _, field := range []plane.Field{plane.Whole, plane.Top, plane.Bottom} {
			off := denoise.Default(denoise.Good)
			off.Strength = 0
			for _, x := range []expectation{
				{model: noise.Flat(0.79), s: denoise.Default(denoise.Fast)},
				{model: noise.Flat(10), s: off},
			} {
				out := newFrame(format)
				filterField(t, newEngine(t, "", 1), out, frames, field, 1, x.model, x.s)
				got, want := plane.Of(out, field), plane.Of(frames[1], field)
				for i := range want.Planes {
					if !slices.Equal(got.Planes[i].Pix, want.Planes[i].Pix) {
						t.Errorf("%v, field %d: plane %d changed", layout, field, i)
					}
				}
				checkCanaries(t, out)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	e := newEngine(t, "", 1)
	if _, err := e.prepare(newFrame(pipeline.Format{Layout: pipeline.RGBA, Width: 4, Height: 4}), plane.Whole); err == nil {
		t.Error("RGB is accepted")
	}
	for _, l := range append(pipeline.Layouts(), 0) {
		if got, want := takes(l), l.Valid() && !l.Info().RGB; got != want {
			t.Errorf("takes %v: %v", l, got)
		}
	}
	small, large := pipeline.Format{Layout: pipeline.YUV420P, Width: 40, Height: 40}, pipeline.Format{Layout: pipeline.YUV420P, Width: 48, Height: 40}
	a, err := e.prepare(newFrame(small), plane.Whole)
	e2e.Must(t, err)
	defer a.Release()
	b, err := e.prepare(newFrame(large), plane.Whole)
	e2e.Must(t, err)
	defer b.Release()
	s := denoise.Default(denoise.Fast)
	if err := e.filter(newFrame(large), []*frame{a}, 0, noise.Flat(10), s); err == nil {
		t.Error("a result of another size is accepted")
	}
	if err := e.filter(newFrame(small), []*frame{a, b}, 0, noise.Flat(10), s); err == nil {
		t.Error("a window of two sizes is accepted")
	}
	s.First.Stride = 1
	if err := e.filter(newFrame(small), []*frame{a}, 0, noise.Flat(10), s); err == nil {
		t.Error("sums that 32 bits may not hold are accepted")
	}
}

// TestMemory filters a clip on every tier: memory use does not grow after the first frames and
// stays within a gigabyte at 4K and 10 bits.
func TestMemory(t *testing.T) {
	const most = 160 // bytes for a luma sample: with the rows beyond the edges of so low a picture
	format := pipeline.Format{Layout: pipeline.YUV420P.At(10), Width: 1280, Height: 160}
	frames, out := clip(format, 7, 10), newFrame(format)
	for name, tier := range tiers {
		s := denoise.Default(tier)
		before, after := s.Window()
		e := newEngine(t, "", 1) // with more, the most that they ever need at a time is up to chance
		var window []*frame
		made := 0
		for i := range 30 {
			f, err := e.prepare(frames[i%7], plane.Whole)
			e2e.Must(t, err)
			if window = append(window, f); len(window) <= before+after {
				continue
			}
			e2e.Must(t, e.filter(out, window, before, noise.Flat(10+10*float64(i%2)), s))
			window[0].Release()
			window = window[1:]
			if i == 20 {
				made = e.heap.made
			}
		}
		if e.heap.made != made {
			t.Errorf("%s: %d blocks were made, %d for the first 20 frames", name, e.heap.made, made)
		}
		held := e.heap.held.Load()
		t.Logf("%s: %d bytes for a luma sample", name, held/(1280*160))
		if held > most*1280*160 {
			t.Errorf("%s: %d bytes for a luma sample, %d expected", name, held/(1280*160), most)
		}
		for _, f := range window {
			f.Release()
		}
	}
}
