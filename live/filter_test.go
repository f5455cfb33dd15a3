package live

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// reshaped is an extra filter of tests, which makes pictures of another size.
type reshaped struct {
	pool *pipeline.Pool
	make func(in pipeline.Format) (out pipeline.Format, step int, err error)
}

func (f *reshaped) Held() int                                  { return 0 }
func (f *reshaped) Flush(context.Context, pipeline.Emit) error { return nil }

// Process takes every step-th sample from the left upper corner on.
func (f *reshaped) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	defer in.Release()
	format, step, err := f.make(in.Format)
	if err != nil {
		return err
	}
	out, err := f.pool.NewFrame(ctx, format)
	if err != nil {
		return err
	}
	out.CopyTiming(in)
	if step > 1 {
		v := *in.Video
		v.Aspect = pipeline.Ratio{}
		out.Video = &v
	}
	for i, y := range out.Rows() {
		for x := range out.Row(i, y) {
			out.Row(i, y)[x] = in.Row(i, y*step)[x*step]
		}
	}
	return emit(out)
}

// part cuts off all but the left upper WxH.
type part struct{ Size string }

var partFilter = &kernels.FilterType{Name: "part", Place: kernels.PlaceCrop, Zero: part{}, Options: []kernels.Option{{
	Name: "part", Title: "Part", Kind: kernels.Text, Metavar: "WxH", Help: "the part that is left", Check: func(s string) error { _, err := partSize(s); return err },
	Binding: kernels.BindText(func(p *part) *string { return &p.Size }),
}}}

func partSize(s string) (f pipeline.Format, err error) {
	if _, err := fmt.Sscanf(s, "%dx%d", &f.Width, &f.Height); err != nil {
		return f, fmt.Errorf("%q is no size", s)
	}
	return f, nil
}

func (part) Filter() *kernels.FilterType  { return partFilter }
func (part) Takes(l pipeline.Layout) bool { return true }
func (p part) Identity() bool             { return p == part{} }
func (part) Window() pipeline.Window      { return pipeline.Window{} }
func (p part) OnHost(pool *pipeline.Pool, _ kernels.Setting) (pipeline.Filter, error) {
	return &reshaped{pool, func(in pipeline.Format) (pipeline.Format, int, error) {
		size, err := partSize(p.Size)
		out := in
		out.Width, out.Height = size.Width, size.Height
		if size.Width > in.Width || size.Height > in.Height {
			err = fmt.Errorf("%s is more than the picture", p.Size)
		}
		return out, 1, err
	}}, nil
}

// tiny makes pictures smaller by a factor.
type tiny struct{ Factor int }

var tinyFilter = &kernels.FilterType{Name: "tiny", Place: kernels.PlaceScale, Zero: tiny{}, Options: []kernels.Option{{
	Name: "tiny", Title: "Tiny", Kind: kernels.Whole, Domain: kernels.Domain{Max: 4}, Binding: kernels.Bind(func(p *tiny) *int { return &p.Factor }),
}}}

func (tiny) Filter() *kernels.FilterType  { return tinyFilter }
func (tiny) Takes(l pipeline.Layout) bool { return true }
func (p tiny) Identity() bool             { return p.Factor < 2 }
func (tiny) Window() pipeline.Window      { return pipeline.Window{} }
func (p tiny) OnHost(pool *pipeline.Pool, _ kernels.Setting) (pipeline.Filter, error) {
	return &reshaped{pool, func(f pipeline.Format) (pipeline.Format, int, error) {
		f.Width, f.Height = f.Width/p.Factor&^1, f.Height/p.Factor&^1
		return f, p.Factor, nil
	}}, nil
}

// bright adds to the samples of 8 bits.
type bright struct{ By int }

var brightFilter = &kernels.FilterType{Name: "bright", Place: kernels.PlaceSharpen, Zero: bright{}, Options: []kernels.Option{{
	Name: "bright", Title: "Bright", Kind: kernels.Whole, Domain: kernels.Domain{Max: 100}, Binding: kernels.Bind(func(p *bright) *int { return &p.By }),
}}}

func (bright) Filter() *kernels.FilterType  { return brightFilter }
func (bright) Takes(l pipeline.Layout) bool { return l.Info().Depth == 8 }
func (p bright) Identity() bool             { return p.By == 0 }
func (bright) Window() pipeline.Window      { return pipeline.Window{} }
func (p bright) OnHost(pool *pipeline.Pool, _ kernels.Setting) (pipeline.Filter, error) {
	return kernels.PerFrame(pool, func(_ context.Context, out, in *pipeline.Frame) error {
		for i, y := range in.Rows() {
			for x, v := range in.Row(i, y) {
				out.Row(i, y)[x] = v + byte(p.By)
			}
		}
		return nil
	}), nil
}

// steps needs pictures before and after.
type steps struct{ N int }

var stepsFilter = &kernels.FilterType{Name: "steps", Place: kernels.PlaceRate, Zero: steps{}, Options: []kernels.Option{{
	Name: "steps", Title: "Steps", Kind: kernels.Whole, Domain: kernels.Domain{Max: 4}, Binding: kernels.Bind(func(p *steps) *int { return &p.N }),
}}}

func (steps) Filter() *kernels.FilterType  { return stepsFilter }
func (steps) Takes(l pipeline.Layout) bool { return true }
func (p steps) Identity() bool             { return p.N == 0 }
func (steps) Window() pipeline.Window      { return pipeline.Window{Before: 1, After: 1} }

func init() {
	for _, f := range []*kernels.FilterType{partFilter, tinyFilter, brightFilter, stepsFilter} {
		kernels.Register(f)
	}
}

// framed checks that a pair has the left upper part of a picture, each step-th sample of it, and
// the same filtered and brighter.
func (r *rig) framed(p *Pair, n, width, height, step, by int, f FilterSettings) {
	r.t.Helper()
	defer p.Release()
	got := [2]string{p.Original.String(), p.Filtered.String()}
	if want := fmt.Sprintf("%dx%d", width/step&^1, height/step&^1); !strings.Contains(got[0], want) || !strings.Contains(got[1], want) {
		r.t.Fatalf("original %s and filtered %s, not %s", got[0], got[1], want)
	}
	whole := filtered(r.t, p.input, f)
	if in := p.input; in.Width != width || in.Height != height || p.source.Width != 32 || p.source.Height != 18 {
		r.t.Errorf("the main filter read %v of %v", in, p.source)
	}
	at := 0 // of the plane in whole
	for i := range p.Original.NumPlanes() {
		w, rows := p.input.PlaneSize(i)
		_, here := p.Original.PlaneSize(i)
		for y := range here {
			for x, v := range p.Original.Row(i, y) {
				if want := byte(100 + (x*step*7+y*step*5+n*3)%23); v != want {
					r.t.Fatalf("original: plane %d at %d, %d: %d, not %d", i, x, y, v, want)
				}
				if v, want := p.Filtered.Row(i, y)[x], whole[at+y*step*w+x*step]+byte(by); v != want {
					r.t.Fatalf("filtered: plane %d at %d, %d: %d, not %d", i, x, y, v, want)
				}
			}
		}
		at += w * rows
	}
}

// Pictures are cropped, filtered, and scaled, and viewers see the same part of the original.
func TestFraming(t *testing.T) {
	h, r, w := watch(t, Camera, Options{})
	now := func() FilterSettings { st, _ := r.State(); return st.Filter }
	h.take(r, 0)
	r.framed(r.next(w), 0, 32, 18, 1, 0, now())
	for _, c := range []struct {
		change                  string
		width, height, step, by int
	}{
		{`{"part": "24x12"}`, 24, 12, 1, 0}, {`{"bright": 50}`, 24, 12, 1, 50}, {`{"tiny": 2}`, 24, 12, 2, 50},
		{`{"radius": 1}`, 24, 12, 2, 50}, {`{"part": "16x16", "bright": 0}`, 16, 16, 2, 0}, {`{"off": true}`, 16, 16, 2, 0},
		{`{"part": ""}`, 32, 18, 2, 0}, {`{"bright": 3}`, 32, 18, 2, 3}, {`{"tiny": 0}`, 32, 18, 1, 3},
	} {
		e2e.Must(t, r.apply(c.change))
		p := r.next(w) // the picture on show
		if !p.Repeated {
			t.Errorf("%s: another picture", c.change)
		}
		r.framed(p, 0, c.width, c.height, c.step, c.by, now())
		h.take(r, 0)
		r.framed(r.next(w), 0, c.width, c.height, c.step, c.by, now())
		st, _ := r.State()
		if want := (Size{c.width / c.step &^ 1, c.height / c.step &^ 1}); st.Shown != want || (st.Aspect == 1) != (c.step > 1) {
			t.Errorf("%s: shown at %v, aspect %g", c.change, st.Shown, st.Aspect)
		}
	}
	before := now()
	for change, want := range map[string]string{
		`{"part": "33x18"}`: "33x18 is more than the picture", `{"part": "x"}`: `"x" is no size`, `{"part": 5}`: "must be a text", `{"tiny": 5}`: "at most 4|0 to 4",
	} {
		err := r.apply(change)
		ok := false
		for _, w := range strings.Split(want, "|") {
			ok = ok || strings.Contains(fmt.Sprint(err), w)
		}
		if !ok || now() != before {
			t.Errorf("%s: %v", change, err)
		}
	}
	e2e.Must(t, r.apply(`{"steps": 1}`)) // which is no option of live
	if now() != before || has(before, "steps") || !has(before, "part") {
		t.Errorf("%+v", before.Controls())
	}
	steady := before
	steady.Put(steps{1})
	if err := r.Set(func(f *FilterSettings) error { *f = steady; return nil }); err == nil || !strings.Contains(err.Error(), "steps: needs more than one picture") {
		t.Errorf("a filter of many pictures: %v", err)
	}
}

// Settings that are compared crop and scale alike.
func TestFramingOfSides(t *testing.T) {
	h, r, w := watch(t, Camera, Options{})
	h.pass(r, w, 0)
	r.Compare(true)
	r.next(w).Release()
	e2e.Must(t, r.apply(`{"part": "20x14", "tiny": 2, "bright": 9}`))
	r.next(w).Release()
	h.take(r, 1)
	p := r.next(w)
	left, right := p.Sides()
	if left.Format != right.Format || left.Width != 10 || bytes.Equal(samples(left), samples(right)) {
		t.Errorf("%v and %v", left, right)
	}
	p.Release()
	r.Choose(SideA)
	if st, _ := r.State(); st.Filter.Words() != "bilateral, radius 2, part 20x14, tiny 2" || st.Other.Words() != "bilateral, radius 2, part 20x14, bright 9, tiny 2" {
		t.Errorf("%s; %s", st.Filter.Words(), st.Other.Words())
	}
}

// Pictures of a size that cannot be cropped as asked for are shown whole, and the reason is given.
// It is an error if the session has begun with that.
func TestFramingFails(t *testing.T) {
	f := FilterOf(kernels.Select(part{"32x18"}), "auto")
	h, r, w := watch(t, Camera, Options{Filter: f})
	h.pass(r, w, 0)
	small, err := r.frames.TakeFrame(pipeline.Format{Layout: pipeline.YUV420P, Width: 16, Height: 16, Matrix: pipeline.BT601}, nil)
	e2e.Must(t, err)
	h.shots <- shotAt(small, time.Now())
	p := r.next(w)
	if st, _ := r.State(); p.Filtered.Width != 16 || p.Original != p.source || st.Filter.Words() != "strength 1" || st.Notice != "the picture is shown whole: 32x18 is more than the picture" {
		t.Errorf("%v by %s: %s", p.Filtered, st.Filter.Words(), st.Notice)
	}
	p.Release()
	e2e.Must(t, r.apply(`{"part": "8x8"}`))
	p = r.next(w)
	if st, _ := r.State(); p.Filtered.Width != 8 || st.Notice != "" {
		t.Errorf("%v: %s", p.Filtered, st.Notice)
	}
	p.Release()

	f.Put(part{"99x18"})
	h, r = startHand(t, Camera, Options{Filter: f})
	h.take(r, 0)
	r.stops()
	if err := r.end(); err == nil || !strings.Contains(err.Error(), "99x18 is more than the picture") {
		t.Errorf("%v", err)
	}
}

// The denoiser keeps its memory when a later stage or the scaling changes: the current picture does
// not become noisier.
func TestFramingKeepsWhatIsKnown(t *testing.T) {
	h, r, w := watch(t, Camera, Options{Filter: FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto")})
	var want []byte
	for n := range 3 {
		h.take(r, n)
		p := r.next(w)
		want = samples(p.Filtered)
		p.Release()
	}
	for _, change := range []string{`{"bright": 7}`, `{"bright": 0}`, `{"tiny": 2}`, `{"tiny": 0}`} {
		e2e.Must(t, r.apply(change))
		p := r.next(w)
		got := samples(p.Filtered)
		p.Release()
		if strings.HasSuffix(change, "0}") && !bytes.Equal(got, want) {
			t.Errorf("%s: the picture differs", change)
		}
	}
}

// TestPresets: each preset is a valid filter with the right arguments. Any option clears Off.
func TestPresets(t *testing.T) {
	want := []string{"--filter bilateral -r 0", "--strength 0.7", "", "--strength 1.5"}
	for i, p := range Presets() {
		f := FilterOf(kernels.Select(kernels.DefaultBilateral(7)), "auto")
		e2e.Must(t, f.Apply(p.Filter))
		if _, err := f.Resolved(); err != nil || strings.Join(f.Args(), " ") != want[i] {
			t.Errorf("%s: %v, %v", p.Name, f.Args(), err)
		}
	}
	f := FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto")
	f.Off = true
	if p, err := f.Resolved(); err != nil || p != kernels.Select(kernels.DefaultBilateral(0)) {
		t.Errorf("off is %+v, %v", p, err)
	}
	if err := f.Apply(map[string]any{"off": 1.0}); err == nil {
		t.Error("off takes a number")
	}
	if err := f.Apply(map[string]any{"grain": 0.5}); err != nil || f.Off {
		t.Errorf("after an option it is off: %v, %v", f.Off, err)
	}
}
