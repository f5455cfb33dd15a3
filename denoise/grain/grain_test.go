package grain

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

const width, height = 256, 192

// frame returns a frame with the samples of a picture.
func frame(pic plane.Picture, l pipeline.Layout) *pipeline.Frame {
	f := pipeline.Format{Layout: l, Width: pic.Planes[0].Width, Height: pic.Planes[0].Height}
	offsets, pitches, size := f.PlanLayout(0)
	memory := make([]byte, size)
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		planes[i] = pipeline.Plane{Data: memory[offsets[i]:], Pitch: pitches[i]}
	}
	out := pipeline.NewFrame(f, planes, nil, nil)
	pic.Into(out, plane.Whole)
	return out
}

// grown adds grain that the weights of neighbours make of noise. Its sigma at a brightness is
// sigma(brightness).
func grown(p plane.Plane, random *rand.Rand, weights []int8, shift int, sigma func(level float64) float64) plane.Plane {
	t := newTemplate(random, max(p.Width, p.Height)+16)
	t.filter(weights, shift, nil)
	whole := t.sigma()
	out := p.Like()
	for y := range p.Height {
		for x := range p.Width {
			level := float64(p.At(x, y)) / float64(p.Unit())
			v := float64(p.At(x, y)) + float64(p.Unit())*sigma(level)*t[y+8][x+8]/whole
			out.Row(y)[x] = uint16(min(max(math.Round(v), 0), float64(p.Max())))
		}
	}
	return out
}

// coarse are weights of grain that is wider than a sample, white ones of grain that is not.
func coarse() []int8 {
	w := make([]int8, taps)
	for i, n := range neighbours {
		switch {
		case n.x == 0 && n.y == -1, n.x == -1 && n.y == 0:
			w[i] = 30
		case n.x == -1 && n.y == -1:
			w[i] = -10
		}
	}
	return w
}

func white() []int8 { return make([]int8, taps) }

// sigmaAt is the sigma of luma grain at a brightness.
func sigmaAt(g *pipeline.FilmGrain, level float64) float64 {
	points := g.Luma
	i := 0
	for i+2 < len(points) && float64(points[i+1].Value) < level {
		i++
	}
	a, b := points[i], points[i+1]
	share := min(max((level-float64(a.Value))/float64(b.Value-a.Value), 0), 1)
	scale := float64(a.Scale) + share*(float64(b.Scale)-float64(a.Scale))
	return scale * templates(g)[0] / float64(int(1)<<(g.ScalingShift+g.NoiseShift))
}

// The described grain has the spectrum, the strength and the dependence on brightness of the noise
// that was removed.
func TestMeasure(t *testing.T) {
	ramp := denoisetest.Scene(func(x, y float64) float64 { return 30 + 190*x/width })
	for _, c := range []struct {
		name    string
		layout  pipeline.Layout
		weights []int8
		sigma   func(level float64) float64
	}{
		{"white", pipeline.YUV420P, white(), func(float64) float64 { return 6 }},
		{"coarse", pipeline.YUV420P, coarse(), func(float64) float64 { return 6 }},
		{"deep", pipeline.YUV420P.At(10), coarse(), func(float64) float64 { return 2 }},
		{"strong", pipeline.NV12, coarse(), func(float64) float64 { return 20 }},
		{"photons", pipeline.YUV444P, white(), func(l float64) float64 { return math.Sqrt(1 + l/6) }},
		{"falling", pipeline.YUV422P, coarse(), func(l float64) float64 { return math.Sqrt(40 - l/8) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := c.layout.Info()
			clean := ramp.Picture(width, height, info.Depth, info.SubX, info.SubY)
			random := rand.New(rand.NewPCG(3, 4))
			var m Measure
			after := frame(clean, c.layout)
			for range 8 {
				noisy := clean.Clone()
				noisy.Planes[0] = grown(clean.Planes[0], random, c.weights, 6, c.sigma)
				for i := 1; i < 3; i++ {
					noisy.Planes[i] = grown(clean.Planes[i], random, c.weights, 6, func(float64) float64 { return 3 })
				}
				m.Add(frame(noisy, c.layout), after)
			}
			g := m.Grain()
			for _, level := range []float64{50, 120, 190} {
				if got, want := sigmaAt(g, level), c.sigma(level); math.Abs(got/want-1) > 0.1 {
					t.Errorf("sigma at %g is %.2f, not %.2f", level, got, want)
				}
			}
			for i, w := range c.weights {
				got, want := float64(g.LumaWeights[i])/float64(int(1)<<g.WeightShift), float64(w)/64
				if math.Abs(got-want) > 0.06 {
					t.Errorf("weight %v is %.3f, not %.3f", neighbours[i], got, want)
				}
			}
			// Chroma of more samples is halved, which makes white noise weaker.
			want := 3.0
			if info.SubX+info.SubY < 2 {
				want = 0
			}
			for i, points := range g.Chroma {
				got := float64(points[0].Scale) * templates(g)[i+1] / float64(int(1)<<(g.ScalingShift+g.NoiseShift))
				if want > 0 && math.Abs(got/want-1) > 0.12 || got > 3.3 || got < 1 {
					t.Errorf("sigma of chroma %d is %.2f, not %.2f", i, got, want)
				}
			}
		})
	}
}

// Unchanged pictures have no grain, at any size and also without flat parts.
func TestMeasureNothing(t *testing.T) {
	for _, size := range [][2]int{{width, height}, {40, 40}, {31, 64}, {2, 2}} {
		pic := denoisetest.Texture(1).Picture(size[0], size[1], 8, 1, 1)
		var m Measure
		m.Add(frame(pic, pipeline.YUV420P), frame(pic, pipeline.YUV420P))
		if g := m.Grain(); g != nil {
			t.Errorf("%v: %+v", size, g)
		}
	}
}

// delayed emits frames late, as the clean scene.
type delayed struct {
	clean func(pts int64) *pipeline.Frame
	held  []*pipeline.Frame
}

func (d *delayed) Held() int { return 3 }

func (d *delayed) Process(ctx context.Context, f *pipeline.Frame, emit pipeline.Emit) error {
	if d.held = append(d.held, f); len(d.held) < 3 {
		return nil
	}
	return d.emit(emit)
}

func (d *delayed) emit(emit pipeline.Emit) error {
	f := d.held[0]
	d.held = d.held[1:]
	defer f.Release()
	if f.Context {
		return nil
	}
	out := d.clean(f.PTS)
	out.CopyTiming(f)
	return emit(out)
}

func (d *delayed) Flush(_ context.Context, emit pipeline.Emit) error {
	for len(d.held) > 0 {
		if err := d.emit(emit); err != nil {
			return err
		}
	}
	return nil
}

func (d *delayed) Discard() {
	for _, f := range d.held {
		f.Release()
	}
	d.held = nil
}

// Each scene has grain of its own, which its frames carry; a source's own grain stays.
func TestFilter(t *testing.T) {
	const frames, cut, own = 24, 10, 20
	scenes := []plane.Picture{denoisetest.Flat(90).Plus(3).Picture(width, height, 8, 1, 1), denoisetest.Texture(5).Picture(width, height, 8, 1, 1)}
	sceneOf := func(pts int64) int {
		if pts < 100*cut {
			return 0
		}
		return 1
	}
	d := &delayed{clean: func(pts int64) *pipeline.Frame { return frame(scenes[sceneOf(pts)], pipeline.YUV420P) }}
	f := NewFilter(d)
	if f.Held() != d.Held() {
		t.Errorf("%d frames held", f.Held())
	}
	given := &pipeline.FilmGrain{}
	released := 0
	random := rand.New(rand.NewPCG(7, 7))
	var out []*pipeline.Frame
	emit := func(f *pipeline.Frame) error { out = append(out, f); return nil }
	for n := range int64(frames) {
		pic := scenes[sceneOf(100*n)].Clone()
		pic.Planes[0] = grown(pic.Planes[0], random, white(), 6, func(float64) float64 { return float64(3 + 3*sceneOf(100*n)) })
		noisy := frame(pic, pipeline.YUV420P)
		in := pipeline.NewFrame(noisy.Format, noisy.Planes, nil, func() { released++ })
		in.PTS, in.Duration = 100*n, 100
		if n >= own {
			in.Grain, in.GrainSeed = given, 5
		}
		e2e.Must(t, f.Process(context.Background(), in, emit))
	}
	context1 := pipeline.NewFrame(out[0].Format, out[0].Planes, nil, func() { released++ })
	context1.Context = true
	e2e.Must(t, f.Process(context.Background(), context1, emit))
	e2e.Must(t, f.Flush(context.Background(), emit))
	if released != frames+1 || len(out) != frames {
		t.Fatalf("%d frames released, %d emitted", released, len(out))
	}
	seeds := map[uint16]bool{}
	for n, o := range out {
		want := float64(3 + 3*sceneOf(o.PTS))
		switch {
		case n >= own && (o.Grain != given || o.GrainSeed != 5):
			t.Errorf("frame %d has lost its grain", n)
		case n < own && (o.Grain == nil || math.Abs(sigmaAt(o.Grain, 120)/want-1) > 0.25):
			t.Errorf("frame %d: %+v", n, o.Grain)
		case n < own && (o.GrainSeed == 0 || seeds[o.GrainSeed]):
			t.Errorf("frame %d has the seed %d", n, o.GrainSeed)
		}
		seeds[o.GrainSeed] = true
	}
	if out[cut+7].Grain != out[cut+8].Grain || out[3].Grain == out[cut].Grain {
		t.Error("grain is renewed where it should stay, or stays at a cut")
	}
	s := f.Segments()
	if len(s) != 2 || s[0].Start != 0 || s[0].End != 100*cut || s[1].Start != 100*cut || s[1].End != 100*frames {
		t.Errorf("segments: %+v", s)
	}
}

// A failed run gives all frames back.
func TestDiscard(t *testing.T) {
	pic := denoisetest.Flat(90).Picture(width, height, 8, 1, 1)
	f := NewFilter(&delayed{})
	plain, released := frame(pic, pipeline.YUV420P), 0
	for range 2 {
		in := pipeline.NewFrame(plain.Format, plain.Planes, nil, func() { released++ })
		e2e.Must(t, f.Process(context.Background(), in, nil))
	}
	f.Discard()
	if released != 2 {
		t.Errorf("%d of 2 frames came back", released)
	}
}

// A table reads as encoders read it.
func TestWriteTable(t *testing.T) {
	g := &pipeline.FilmGrain{
		Lag: lag, WeightShift: 7, NoiseShift: 1, ScalingShift: 9, Overlap: true, Luma: []pipeline.GrainPoint{{Value: 10, Scale: 20}, {Value: 200, Scale: 30}},
		LumaWeights: coarse(), Chroma: [2][]pipeline.GrainPoint{{{Value: 128, Scale: 9}}, nil},
		ChromaWeights: [2][]int8{make([]int8, taps+1), make([]int8, taps+1)},
	}
	var b strings.Builder
	err := WriteTable(&b, []Segment{{Start: 500, End: 1000, Grain: g}, {Start: 1000, End: 1500}, {Start: 1500, End: 2000, Grain: g}}, 1, 1000)
	e2e.Must(t, err)
	lines := strings.Split(b.String(), "\n")
	if lines[0] != "filmgrn1" || len(lines) != 1+2*8+1 {
		t.Fatalf("%d lines: %s", len(lines), b.String())
	}
	ends := [][2]int64{{0, 5_000_000}, {10_000_000, math.MaxInt64}} // in 100 ns
	for i, want := range ends {
		var start, end int64
		var apply, seed, update int
		entry := lines[1+8*i:]
		if n, err := fmt.Sscanf(entry[0], "E %d %d %d %d %d", &start, &end, &apply, &seed, &update); n != 5 || start != want[0] || end != want[1] ||
			apply != 1 || seed == 0 || update != 1 {
			t.Errorf("%s: %v", entry[0], err)
		}
		for k, want := range []string{
			"p 3 7 1 9 0 1 128 128 256 128 128 256", "sY 2 10 20 200 30", "sCb 1 128 9", "sCr 0", "cY " + fmt.Sprint(coarse()), "cCb " + fmt.Sprint(g.ChromaWeights[0]),
			"cCr " + fmt.Sprint(g.ChromaWeights[1]),
		} {
			if got := entry[1+k]; got != "\t"+strings.NewReplacer("[", "", "]", "").Replace(want) {
				t.Errorf("%q, not %q", got, want)
			}
		}
	}
}

func BenchmarkMeasure(b *testing.B) {
	clean := denoisetest.Texture(1).Picture(3840, 2160, 8, 1, 1)
	before, after := frame(denoisetest.NoisyPicture(clean, 5, 1), pipeline.YUV420P), frame(clean, pipeline.YUV420P)
	for b.Loop() {
		var m Measure
		m.Add(before, after)
	}
}
