package denoise

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/noise"
	"vidfilter/internal/e2e"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// film runs frames through a filter, and keeps the results by their times.
type film struct {
	t      *testing.T
	filter *Filter
	pool   *pipeline.Pool
	got    map[int64][]byte
	order  []int64
	live   int // frames that the filter has not released
	still  bool
	lit    bool // flickers
}

func newFilm(t *testing.T, o Options) *film {
	t.Helper()
	pool := pipeline.NewPool(heap{}, 1)
	t.Cleanup(pool.Close)
	return &film{t: t, filter: NewFilter(Plain{}, pool, o), pool: pool, got: map[int64][]byte{}}
}

// heap allocates from Go's memory.
type heap struct{}

func (heap) Alloc(n int) (pipeline.Memory, error) {
	return pipeline.Memory{Bytes: make([]byte, n), Free: func() {}}, nil
}

func (f *film) emit(out *pipeline.Frame) error {
	var all []byte
	for i, y := range out.Rows() {
		all = append(all, out.Row(i, y)...)
	}
	f.got[out.PTS], f.order = all, append(f.order, out.PTS)
	out.Release()
	return nil
}

// frame returns picture n of a noisy pan, or still, the same in every film.
func (f *film) frame(n int, format pipeline.Format) *pipeline.Frame {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	src, pan := kerneltest.Frame(format), 2
	if f.still {
		pan = 0
	}
	light := f.light(rng)
	scene.EachSample(src, func(p, x, y int) byte {
		return byte(light*pattern(p, x+pan*n, y) + float64(int(rng.NormFloat64()*8)))
	})
	f.live++
	out := pipeline.NewFrame(format, src.Planes, nil, func() {
		f.live--
		clear(src.Planes[0].Data) // the race detector reports late readers
	})
	out.PTS = int64(n)
	return out
}

// pattern is the level of a plane.
func pattern(p, x, y int) float64 { return float64(90 + 20*p + x/5*7%60 + y/4*3%40) }

// light is the brightness of a frame, given its random numbers.
func (f *film) light(rng *rand.Rand) float64 {
	if !f.lit {
		return 1
	}
	return 1 - 0.3*rng.Float64()
}

func (f *film) put(in *pipeline.Frame) {
	f.t.Helper()
	e2e.Must(f.t, f.filter.Process(context.Background(), in, f.emit))
}

func (f *film) end() {
	f.t.Helper()
	e2e.Must(f.t, f.filter.Flush(context.Background(), f.emit))
	if f.live != 0 || f.pool.InUse() != 0 {
		f.t.Errorf("%d frames and %d results are not released", f.live, f.pool.InUse())
	}
}

var small = pipeline.Format{Layout: pipeline.YUV420P, Width: 70, Height: 50, Matrix: pipeline.BT709}

func options(tier Tier) Options { return Options{Settings: Default(tier)} }

// Every frame comes out once, in order, as soon as its window is complete.
func TestFilterOrder(t *testing.T) {
	for _, tier := range []Tier{Fast, Good, Best} {
		f := newFilm(t, options(tier))
		_, after := f.filter.opts.Window()
		for n := range 9 {
			f.put(f.frame(n, small))
			if want := max(0, n+1-after); len(f.order) != want {
				t.Errorf("tier %d: %d results after %d frames, %d expected", tier, len(f.order), n+1, want)
			}
		}
		f.end()
		for i, n := range f.order {
			if int64(i) != n {
				t.Fatalf("tier %d: the order is %v", tier, f.order)
			}
		}
		if len(f.order) != 9 {
			t.Errorf("tier %d: %d results of 9", tier, len(f.order))
		}
	}
}

// A part that is filtered with its neighbours as context has the bits of the whole.
func TestFilterParts(t *testing.T) {
	best, fields := known(options(Best)), known(options(Best))
	fields.Runs = 1
	const far = noise.Before
	for _, c := range []struct {
		name        string
		o           Options
		from, to    int
		interlaced  bool
		lit         bool
		begin, last int // of the part and its context
	}{
		{"good", options(Good), far + 2, far + 6, false, false, 2, far + 8},
		{"flicker", options(Good), far + 2, far + 6, false, true, 2, far + 8},
		{"best", best, 54, 56, false, false, 0, 61},
		{"best, later", best, 70, 72, false, false, 16, 77},
		{"fields, one run", fields, 38, 40, true, false, 16, 45},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.o.Reads()
			if begin := max(c.from-w.Before, 0) / w.Step * w.Step; begin != c.begin || c.to-1+w.After != c.last {
				t.Fatalf("the context is from %d to %d", begin, c.to-1+w.After)
			}
			play := func(from, to int, context func(n int) bool) *film {
				f := newFilm(t, c.o)
				f.still, f.lit = c.o.Runs > 0 || c.lit, c.lit
				for n := from; n <= to; n++ {
					in := f.frame(n, small)
					in.Interlaced, in.Context = c.interlaced, context(n)
					f.put(in)
				}
				f.end()
				return f
			}
			wanted := func(n int) bool { return n < c.from || n >= c.to }
			// Unwanted frames of the whole video are marked as context to save time.
			whole, part := play(0, c.last+4, wanted), play(c.begin, c.last, wanted)
			if len(part.order) != c.to-c.from {
				t.Fatalf("the part has frames %v", part.order)
			}
			for _, n := range part.order {
				if !bytes.Equal(part.got[n], whole.got[n]) {
					t.Errorf("frame %d of the part is not that of the whole", n)
				}
			}
			if c.o.Runs > 0 { // the context is needed
				if short := play(c.begin+w.Step, c.last, wanted); bytes.Equal(short.got[int64(c.from)], whole.got[int64(c.from)]) {
					t.Error("the first run of the context changes nothing")
				}
			}
		})
	}
}

// known gives the filter the noise.
func known(o Options) Options {
	o.Sigma = 8
	return o
}

// After a change of format, or from frames to fields, the filter begins anew.
func TestFilterChange(t *testing.T) {
	other := small
	other.Width, other.Layout = 48, pipeline.NV12
	f, alone := newFilm(t, options(Fast)), newFilm(t, options(Fast))
	for n := range 12 {
		format, fields := small, n >= 8
		if n >= 4 {
			format = other
		}
		for _, film := range []*film{f, alone} {
			if in := film.frame(n, format); film == f || n >= 4 && n < 8 {
				in.Interlaced = fields
				film.put(in)
			} else {
				in.Release()
			}
		}
	}
	f.end()
	alone.end()
	if len(f.order) != 12 {
		t.Fatalf("the results are %v", f.order)
	}
	for n := int64(4); n < 8; n++ {
		if !bytes.Equal(f.got[n], alone.got[n]) {
			t.Errorf("frame %d depends on frames of another kind", n)
		}
	}
}

// A frame shown twice counts once: the results are those without the repeat.
func TestFilterRepeats(t *testing.T) {
	o := options(Good)
	o.Sigma = 8
	deep := small
	deep.Layout = pipeline.NV12.At(10)
	for _, c := range []struct {
		format pipeline.Format
		fields bool
	}{{small, false}, {small, true}, {deep, false}} {
		format, fields := c.format, c.fields
		run := func(frames ...int) *film {
			f := newFilm(t, o)
			for i, n := range frames {
				in := f.frame(n, format)
				in.PTS, in.Interlaced = int64(i), fields
				f.put(in)
			}
			f.end()
			return f
		}
		twice, once, more := run(0, 1, 2, 2, 3, 4, 5), run(0, 1, 2, 3, 4), run(0, 1, 2, 3, 4, 5)
		if !bytes.Equal(twice.got[2], once.got[2]) || !bytes.Equal(twice.got[3], more.got[2]) {
			t.Errorf("%v, fields %v: a repeated frame is taken for another", format, fields)
		}
		if bytes.Equal(once.got[2], more.got[2]) {
			t.Errorf("%v, fields %v: frame 5 changes nothing", format, fields)
		}
	}
}

// A clean frame comes out bit for bit, and a causal filter emits it at once.
func TestFilterCleanAndCausal(t *testing.T) {
	o := options(Fast)
	o.Ahead, o.Sigma = 0, 0.5
	seen := 0
	f := newFilm(t, o)
	f.filter.OnNoise(func(noise.Model, bool) { seen++ })
	for n := range 3 {
		in := f.frame(n, small)
		want := in.Row(1, 3)
		f.put(in)
		if got := f.got[int64(n)]; len(got) == 0 || !bytes.Equal(got[70*50+3*35:][:35], want) {
			t.Errorf("frame %d is not copied at once", n)
		}
	}
	f.end()
	if seen != 3 {
		t.Errorf("the noise of %d frames of 3 was reported", seen)
	}
}

// An engine that copies needs no more frames than one to compare the next with, and a clean frame
// still comes out as it was, with its time.
func TestFilterForgets(t *testing.T) {
	for _, interlaced := range []bool{false, true} {
		o := options(Good)
		o.Sigma = 0.1
		f := newFilm(t, o)
		want := map[int64][]byte{}
		for n := range 10 {
			in := f.frame(n, small)
			in.Interlaced = interlaced
			for i, y := range in.Rows() {
				want[in.PTS] = append(want[in.PTS], in.Row(i, y)...)
			}
			if f.put(in); f.live != 1 {
				t.Errorf("%d frames are held after %d", f.live, n+1)
			}
		}
		f.end()
		if len(f.order) != 10 {
			t.Errorf("%d results of 10", len(f.order))
		}
		for n, got := range f.got {
			if !bytes.Equal(got, want[n]) {
				t.Errorf("frame %d is changed", n)
			}
		}
	}
}

// deep is an engine with results under way, for which frames are measured side by side.
type deep struct{ Plain }

func (deep) Depth() int { return 2 }

// Frames that are measured side by side have the noise and the bits of those measured one by one.
func TestFilterMeasuresAhead(t *testing.T) {
	run := func(e Engine) (f *film, noises []noise.Model) {
		f = newFilm(t, options(Fast))
		f.filter = NewFilter(e, f.pool, options(Fast))
		f.filter.OnNoise(func(m noise.Model, _ bool) { noises = append(noises, m) })
		for n := range 12 {
			format := small
			if n >= 7 {
				format.Width = 48
			}
			f.put(f.frame(n, format))
			if held := f.live + f.pool.InUse(); held > f.filter.Held()+2 {
				t.Errorf("%d frames are held, and not %d", held, f.filter.Held())
			}
		}
		f.end()
		return f, noises
	}
	one, noises := run(Plain{})
	ahead, same := run(deep{})
	if !slices.Equal(noises, same) || !slices.Equal(one.order, ahead.order) {
		t.Error("the noise or the order differs")
	}
	for n, want := range one.got {
		if !bytes.Equal(ahead.got[n], want) {
			t.Errorf("frame %d differs", n)
		}
	}
}

// A failed run releases all frames and results.
func TestFilterDiscard(t *testing.T) {
	for _, e := range []Engine{Plain{}, deep{}} {
		for stop := range 8 {
			f := newFilm(t, options(Best))
			f.filter = NewFilter(e, f.pool, options(Best))
			for n := range stop {
				f.put(f.frame(n, small))
			}
			f.filter.Discard()
			if f.live != 0 || f.pool.InUse() != 0 {
				t.Errorf("%d frames and %d results are not released", f.live, f.pool.InUse())
			}
		}
	}
}

// Fields are filtered as pictures of their own: flicker between them stays.
func TestFilterFields(t *testing.T) {
	o := options(Fast)
	o.Sigma = 8
	f := newFilm(t, o)
	format := small
	format.Height = 54 // the bottom field has a chroma row fewer
	for n := range 4 {
		in := f.frame(n, format)
		for y := 1; y < in.Height; y += 2 {
			row := in.Row(0, y)
			for x := range row {
				row[x] += 60
			}
		}
		in.Interlaced = true
		f.put(in)
	}
	f.end()
	for n, got := range f.got {
		sum := 0
		for y := range format.Height {
			for x := range format.Width {
				sum += (2*(y%2) - 1) * int(got[y*format.Width+x])
			}
		}
		if d := float64(sum) / float64(format.Width*format.Height/2); d < 57 || d > 63 {
			t.Errorf("frame %d: the fields differ by %.1f, 60 before", n, d)
		}
	}
}

// RGB pictures lose their noise and keep their mean colours and alpha.
func TestFilterRGB(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.RGBA, pipeline.GBRP, pipeline.GBRP.At(10), pipeline.GBRP.At(16)} {
		format := pipeline.Format{Layout: layout, Width: 48, Height: 40}
		info := layout.Info()
		unit := 1 << (info.Depth - 8)
		o := options(Fast)
		o.Sigma = 10
		f := newFilm(t, o)
		rng := rand.New(rand.NewPCG(3, 5))
		flat := [4]int{200, 90, 40, 77}
		channel := func(plane, x int) int { return max(plane, x%info.Samples) }
		in := kerneltest.Frame(format)
		scene.EachSample(in, func(plane, x, _ int) uint16 {
			c := channel(plane, x)
			if c == 3 {
				return uint16(flat[3])
			}
			return uint16(min(max((float64(flat[c])+rng.NormFloat64()*10)*float64(unit), 0), float64(256*unit-1)))
		})
		f.live++
		f.put(pipeline.NewFrame(format, in.Planes, nil, func() { f.live-- }))
		f.end()
		var sum, squares [4]float64
		got, n := f.got[0], float64(48*40)
		for i := range format.Rows() {
			width, _ := format.PlaneSize(i)
			row := got[:width]
			got = got[width:]
			for x := range width / info.SampleBytes() {
				v := float64(kerneltest.Sample(info, row, x)) / float64(unit)
				c := channel(i, x)
				sum[c] += v
				squares[c] += (v - float64(flat[c])) * (v - float64(flat[c]))
			}
		}
		for c := range max(info.Samples, info.Planes) {
			mean, mse := sum[c]/n, squares[c]/n
			if math.Abs(mean-float64(flat[c])) > 1 || mse > 20 {
				t.Errorf("%v, channel %d: mean %.1f, squared error %.1f; %d before, with 100", layout, c, mean, mse, flat[c])
			}
		}
	}
}

// A causal filter emits its latest frame again with other settings, and goes on.
func TestFilterAgain(t *testing.T) {
	o := options(Fast)
	o.Ahead, o.Sigma = 0, 8
	f, plain := newFilm(t, o), newFilm(t, o)
	for n := range 4 {
		f.put(f.frame(n, small))
		plain.put(plain.frame(n, small))
	}
	once := f.got[3]
	strong := o
	strong.Strength = 2
	f.filter.Retune(strong)
	if err := f.filter.Again(context.Background(), f.emit); err != nil || len(f.order) != 5 {
		t.Fatalf("%v, %v", f.order, err)
	}
	if bytes.Equal(once, f.got[3]) {
		t.Error("the strength changes nothing")
	}
	f.filter.Retune(o)
	f.put(f.frame(4, small))
	plain.put(plain.frame(4, small))
	if !bytes.Equal(f.got[4], plain.got[4]) {
		t.Error("the next frame is not what it would have been")
	}
	f.end()
	plain.end()
}

// Pictures that are made of fields are denoised for a fifth more noise than measured, and for the
// given noise if it is given.
func TestFilterFromFields(t *testing.T) {
	for _, sigma := range []float64{0, 10} {
		o := options(Fast)
		o.Sigma = sigma
		var seen [2][]float64
		var films [2]*film
		for i := range films {
			films[i] = newFilm(t, o)
			films[i].filter.OnNoise(func(m noise.Model, _ bool) { seen[i] = append(seen[i], m.Sigma[0]) })
			for n := range 5 {
				in := films[i].frame(n, small)
				in.FromField = i > 0
				films[i].put(in)
			}
			films[i].end()
		}
		want := 1.2
		if sigma > 0 {
			want = 1
		}
		for n, v := range seen[0] {
			if ratio := seen[1][n] / v; math.Abs(ratio-want) > 1e-6 {
				t.Errorf("noise %v, frame %d: %.3f times the noise of other pictures", sigma, n, ratio)
			}
		}
		if same := bytes.Equal(films[0].got[2], films[1].got[2]); same != (sigma > 0) {
			t.Errorf("noise %v: the same result: %v", sigma, same)
		}
	}
}

// A filter whose noise was given measures it from then on as one that always did, once its window
// has passed, and at once for the frame it emits again.
func TestFilterRetuneNoise(t *testing.T) {
	for _, ahead := range []int{0, 1} {
		auto := options(Fast)
		auto.Ahead = ahead
		given := auto
		given.Sigma = 10
		var seen []float64
		f, plain := newFilm(t, given), newFilm(t, auto)
		f.filter.OnNoise(func(m noise.Model, _ bool) { seen = append(seen, m.Sigma[0]) })
		last := 0
		put := func(frames int) {
			for range frames {
				f.put(f.frame(last, small))
				plain.put(plain.frame(last, small))
				last++
			}
		}
		put(2)
		for _, o := range []Options{auto, given, auto} {
			f.filter.Retune(o)
			e2e.Must(t, f.filter.Again(context.Background(), f.emit))
			now := seen[len(seen)-1]
			if o.Sigma > 0 && now != o.Sigma || o.Sigma == 0 && (now < 6 || now > 10) {
				t.Errorf("ahead %d, frame %d: the noise is %.2f", ahead, last, now)
			}
		}
		put(noise.Before)
		if n := int64(last - 1 - ahead); !bytes.Equal(f.got[n], plain.got[n]) {
			t.Errorf("ahead %d: frame %d is not what it would have been", ahead, n)
		}
		f.end()
		plain.end()
	}
}

// Unfiltered frames keep their values at a greater depth.
func TestFilterCleanDeeper(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.GRAY, pipeline.GBRP, pipeline.YUV422P.At(10), pipeline.RGBA} {
		o := options(Fast)
		o.Sigma, o.Depth = 0.5, 12
		f := newFilm(t, o)
		in := kerneltest.Frame(pipeline.Format{Layout: layout, Width: 20, Height: 18})
		denoisetest.DrawFrame(in, 1)
		want := kerneltest.Frame(o.formatOf(in.Format))
		if layout.At(12).Valid() != (want.Layout == layout.At(12)) {
			t.Errorf("%v becomes %v", layout, want.Layout)
		}
		was, is := in.Layout.Info(), want.Layout.Info()
		var all []byte
		for i, y := range want.Rows() {
			for x := range len(in.Row(i, y)) / was.SampleBytes() {
				v := min(kerneltest.Sample(was, in.Row(i, y), x), 1<<was.Depth-1) << (is.Depth - was.Depth)
				if is.Depth == 8 {
					all = append(all, byte(v))
				} else {
					all = binary.LittleEndian.AppendUint16(all, uint16(v<<is.Shift))
				}
			}
		}
		f.put(in)
		f.end()
		if !bytes.Equal(f.got[0], all) {
			t.Errorf("%v: other values", layout)
		}
	}
}

// RGB noise is measured and given in levels of its samples. Both ways remove the same amount.
func TestFilterNoiseOfRGB(t *testing.T) {
	const sigma = 9
	format := pipeline.Format{Layout: pipeline.GBRP, Width: 96, Height: 64}
	error2 := map[float64]float64{}
	for _, given := range []float64{0, sigma} {
		o := options(Fast)
		o.Sigma = given
		f := newFilm(t, o)
		f.filter.OnNoise(func(m noise.Model, _ bool) {
			for _, got := range m.Sigma {
				if math.Abs(got-sigma) > 1.2 {
					t.Errorf("given %v: %.1f, want %d", given, got, sigma)
				}
			}
		})
		clean := denoisetest.Texture(3).Picture(format.Width, format.Height, 8, 0, 0)
		for n := range 7 {
			in := kerneltest.Frame(format)
			for i, p := range denoisetest.NoisyPicture(clean, sigma, uint64(n)).Planes {
				for y := range p.Height {
					for x, v := range p.Row(y) {
						in.Row(i, y)[x] = byte(v)
					}
				}
			}
			in.PTS = int64(n)
			f.put(in)
		}
		f.end()
		for i, p := range clean.Planes {
			for k, v := range p.Pix {
				d := float64(f.got[3][i*len(p.Pix)+k]) - float64(v)
				error2[given] += d * d / float64(3*len(p.Pix))
			}
		}
	}
	t.Logf("squared error %.2f, and %.2f with %d given", error2[0], error2[sigma], sigma)
	if error2[0] > 24 || error2[sigma] > 1.1*error2[0] {
		t.Errorf("squared error %.2f, and %.2f with %d given", error2[0], error2[sigma], sigma)
	}
}
