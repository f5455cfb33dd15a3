package interlace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"vidfilter/denoise/enginetest"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

var small = pipeline.Format{Layout: pipeline.YUV420P, Width: 6, Height: 8}

// shot describes a frame by its time and its kind: p progressive, t top field first, b bottom field
// first, in capitals for context frames.
type shot struct {
	kind       byte
	pts, lasts int64
}

// noisy returns a frame of random samples with a number as seed.
func noisy(format pipeline.Format, number uint64) *pipeline.Frame {
	f := pipeline.Blank(format)
	r := rand.New(rand.NewPCG(1, number))
	for _, p := range f.Planes[:f.NumPlanes()] {
		for i := range p.Data {
			p.Data[i] = byte(r.Uint32())
		}
	}
	return f
}

// clip returns noisy frames for shots.
func clip(format pipeline.Format, video *pipeline.Video, shots []shot) (all []*pipeline.Frame) {
	for _, s := range shots {
		f := noisy(format, uint64(s.pts))
		f.PTS, f.Duration, f.Video = s.pts, s.lasts, video
		f.Context = s.kind < 'a'
		kind := s.kind | 0x20
		f.Interlaced, f.TopFieldFirst = kind != 'p', kind == 't'
		all = append(all, f)
	}
	return all
}

// shots returns a shot for each kind, 40 units apart.
func shots(kinds string) (all []shot) {
	for i := range kinds {
		all = append(all, shot{kinds[i], int64(40 * i), 40})
	}
	return all
}

// run filters frames and checks that all are released.
func run(t *testing.T, f *interlace.Filter, in []*pipeline.Frame) (out []*pipeline.Frame) {
	t.Helper()
	left := len(in)
	emit := func(r *pipeline.Frame) error {
		out = append(out, r)
		return nil
	}
	for _, frame := range in {
		own := pipeline.NewFrame(frame.Format, frame.Planes, nil, func() { left-- })
		own.CopyTiming(frame)
		e2e.Must(t, f.Process(context.Background(), own, emit))
	}
	e2e.Must(t, f.Flush(context.Background(), emit))
	for _, r := range out {
		passed := r.Planes[0].Data != nil && slices.ContainsFunc(in, func(f *pipeline.Frame) bool { return &f.Planes[0].Data[0] == &r.Planes[0].Data[0] })
		if passed {
			r.Release() // its samples remain valid
		}
		if r.Interlaced || r.TopFieldFirst {
			t.Errorf("the result at %d is interlaced", r.PTS)
		}
		if r.FromField == passed {
			t.Errorf("the result at %d: made of a field: %v", r.PTS, r.FromField)
		}
	}
	if left != 0 {
		t.Errorf("%d frames are not released", left)
	}
	return out
}

func pool() *pipeline.Pool { return pipeline.NewPool(enginetest.Memory{}, 100) }

func plain(o interlace.Options) *interlace.Filter {
	return interlace.NewFilter(interlace.Plain{}, pool(), o)
}

// watched is an engine that records the fields of each window: t, b, or - if missing.
type watched struct {
	interlace.Engine
	jobs []string
}

func (w *watched) Fill(ctx context.Context, j interlace.Job) (interlace.Wait, error) {
	text := ""
	for _, f := range j.Window {
		switch l, _ := f.(*interlace.Lines); {
		case l == nil:
			text += "-"
		case l.Bottom:
			text += "b"
		default:
			text += "t"
		}
	}
	w.jobs = append(w.jobs, text)
	return w.Engine.Fill(ctx, j)
}

// TestWindows checks that windows contain only fields of one run.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		kinds  string
		single bool
		want   []string
	}{
		{"t", false, []string{"----tb---", "---tb----"}},
		{"b", true, []string{"----bt---"}},
		{"tt", false, []string{"----tbtb-", "---tbtb--", "--tbtb---", "-tbtb----"}},
		{"ttt", true, []string{"----tbtbt", "--tbtbtb-", "tbtbtb---"}},
		{"tptb", true, []string{"----tb---", "----tb---", "----bt---"}},
		{"bbbb", false, []string{"----btbtb", "---btbtbt", "--btbtbtb", "-btbtbtbt", "btbtbtbt-", "tbtbtbt--", "btbtbt---", "tbtbt----"}},
		{"TTtTT", false, []string{"tbtbtbtbt", "btbtbtbtb"}},
		{"ppp", false, nil},
	} {
		w := &watched{Engine: interlace.Plain{}}
		run(t, interlace.NewFilter(w, pool(), interlace.Options{Single: c.single}), clip(small, nil, shots(c.kinds)))
		if !slices.Equal(w.jobs, c.want) {
			t.Errorf("%s: windows %q, not %q", c.kinds, w.jobs, c.want)
		}
	}
}

// TestTimes checks the times of results. A second field's picture is halfway to the next frame.
func TestTimes(t *testing.T) {
	pal := pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 1000}, Rate: pipeline.Ratio{Num: 25, Den: 1}, MeanRate: pipeline.Ratio{Num: 25, Den: 2}}
	halves := pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 2000}, Rate: pipeline.Ratio{Num: 50, Den: 1}, MeanRate: pipeline.Ratio{Num: 25, Den: 1}}
	unrated := halves
	unrated.Rate, unrated.MeanRate = pal.Rate, pal.MeanRate
	even, odd := pal, pal
	even.TimeBase, odd.TimeBase = pipeline.Ratio{Num: 2, Den: 25}, pipeline.Ratio{Num: 1, Den: 25}
	type at struct{ pts, lasts int64 }
	for name, c := range map[string]struct {
		o     interlace.Options
		in    []shot
		want  []at
		video pipeline.Video
	}{
		"constant":      {in: []shot{{'t', 0, 40}, {'t', 40, 40}}, want: []at{{0, 40}, {40, 40}, {80, 40}, {120, 40}}, video: halves},
		"variable":      {in: []shot{{'b', 10, 40}, {'b', 30, 10}, {'b', 135, 33}}, want: []at{{20, 20}, {40, 20}, {60, 105}, {165, 105}, {270, 33}, {303, 33}}, video: halves},
		"no durations":  {in: []shot{{'t', 0, 0}, {'t', 30, 0}}, want: []at{{0, 30}, {30, 30}, {60, 30}, {90, 30}}, video: halves},
		"one":           {in: []shot{{'t', 5, 40}}, want: []at{{10, 40}, {50, 40}}, video: halves},
		"one, by rate":  {in: []shot{{'t', 5, 0}}, want: []at{{10, 0}, {50, 0}}, video: halves},
		"mixed":         {in: []shot{{'t', 0, 40}, {'p', 40, 40}, {'t', 80, 60}}, want: []at{{0, 40}, {40, 40}, {80, 80}, {160, 60}, {220, 60}}, video: halves},
		"fields later":  {in: []shot{{'p', 0, 40}, {'t', 40, 40}}, want: []at{{0, 80}, {80, 40}, {120, 40}}, video: unrated},
		"progressive":   {o: interlace.Options{Progressive: true}, in: []shot{{'p', 0, 40}, {'p', 40, 40}}, want: []at{{0, 40}, {40, 40}}, video: pal},
		"wrong header":  {o: interlace.Options{Progressive: true}, in: []shot{{'t', 0, 40}}, want: []at{{0, 40}, {40, 40}}, video: halves},
		"late, though":  {o: interlace.Options{Progressive: true}, in: []shot{{'p', 0, 40}, {'t', 40, 41}}, want: []at{{0, 40}, {40, 20}, {60, 21}}, video: pal},
		"late, no room": {o: interlace.Options{Progressive: true}, in: []shot{{'p', 0, 1}, {'t', 1, 1}, {'t', 2, 1}}, want: []at{{0, 1}, {1, 1}, {2, 1}}, video: pal},
		"single":        {o: interlace.Options{Single: true}, in: []shot{{'t', 0, 40}, {'p', 40, 40}, {'b', 90, 40}}, want: []at{{0, 40}, {40, 40}, {90, 40}}, video: pal},
		"context alone": {in: []shot{{'T', 0, 40}, {'t', 40, 40}, {'T', 90, 40}}, want: []at{{80, 50}, {130, 50}}, video: halves},
	} {
		t.Run(name, func(t *testing.T) {
			var got []at
			for _, f := range run(t, plain(c.o), clip(small, &pal, c.in)) {
				got = append(got, at{f.PTS, f.Duration})
				if *f.Video != c.video {
					t.Errorf("%v, not %v", *f.Video, c.video)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
	for from, want := range map[pipeline.Ratio]pipeline.Ratio{even.TimeBase: odd.TimeBase, odd.TimeBase: {Num: 1, Den: 50}} {
		v := pal
		v.TimeBase = from
		if f := run(t, plain(interlace.Options{}), clip(small, &v, shots("t"))); f[0].Video.TimeBase != want {
			t.Errorf("time base %v became %v, not %v", from, f[0].Video.TimeBase, want)
		}
	}
}

// props counts its releases.
type props struct {
	text     string
	released *int
}

func (p props) Release()              { *p.released++ }
func (p props) Again() pipeline.Props { return props{p.text + " again", p.released} }

func (p props) OfField(bottom bool) (pipeline.Props, error) {
	return props{fmt.Sprint(p.text, " bottom: ", bottom), p.released}, nil
}

func TestProps(t *testing.T) {
	released := 0
	in := clip(small, nil, shots("tpb"))
	for i, f := range in {
		f.SetProps(props{fmt.Sprint(i), &released})
	}
	var got []string
	for _, f := range run(t, plain(interlace.Options{}), in) {
		got = append(got, f.Props().(props).text)
		if f.FromField {
			f.Release()
		}
	}
	for _, f := range in {
		f.Release()
	}
	want := []string{"0 bottom: false", "0 again bottom: true", "1", "2 bottom: true", "2 again bottom: false"}
	if !slices.Equal(got, want) || released != 9 {
		t.Errorf("%q, not %q; %d of 9 props released", got, want, released)
	}
}

// TestParts checks that a part with context frames gives the same results as the whole video, and
// that Single gives the same pictures for first fields.
func TestParts(t *testing.T) {
	o := interlace.Options{}
	const kinds = "tttpttttbbpptt"
	in := clip(small, nil, shots(kinds))
	whole := map[int64]*pipeline.Frame{}
	for _, f := range run(t, plain(o), in) {
		whole[f.PTS] = f
	}
	if len(whole) != len(kinds)+11 {
		t.Errorf("%d results", len(whole))
	}
	w := o.Reads()
	for from := range in {
		for _, to := range []int{from + 1, from + 4} {
			to = min(to, len(in))
			around := in[max(from-w.Before, 0):min(to+w.After, len(in))]
			for _, f := range around {
				f.Context = f.PTS < in[from].PTS || f.PTS >= in[to-1].PTS+40
			}
			for _, f := range run(t, plain(o), around) {
				is := whole[f.PTS]
				if is == nil || !same(is, f) || is.Duration != f.Duration || f.Context {
					t.Errorf("part %d to %d: the result at %d differs", from, to, f.PTS)
				}
			}
		}
	}
	for _, f := range in {
		f.Context = false
	}
	for i, f := range run(t, plain(interlace.Options{Single: true}), in) {
		if f.PTS != int64(40*i) || !same(f, whole[2*f.PTS]) {
			t.Errorf("single: the result at %d differs", f.PTS)
		}
	}
}

func same(a, b *pipeline.Frame) bool {
	for i, y := range a.Rows() {
		if !bytes.Equal(a.Row(i, y), b.Row(i, y)) {
			return false
		}
	}
	return a.Format == b.Format
}

// TestContext checks that KeepContext results in context frames.
func TestContext(t *testing.T) {
	f := plain(interlace.Options{})
	f.KeepContext()
	text := ""
	for _, r := range run(t, f, clip(small, nil, shots("PTtP"))) {
		text += fmt.Sprintf("%d%v ", r.PTS, r.Context)
	}
	if want := "0true 80true 120true 160false 200false 240true "; text != want {
		t.Errorf("%q, not %q", text, want)
	}
}

// TestStill checks that still pictures do not change, even with a single row of luma or chroma.
func TestStill(t *testing.T) {
	for _, height := range []int{1, 2, 3, 5, 8} {
		format := pipeline.Format{Layout: pipeline.YUV420P, Width: 3, Height: height}
		in := clip(format, nil, shots("ttt"))
		for n, f := range in {
			for i, y := range f.Rows() {
				for x := range f.Row(i, y) {
					f.Row(i, y)[x] = byte(100 + 10*y + 3*i)
				}
			}
			if height == 1 && n > 0 {
				f.Interlaced = false
			}
		}
		out := run(t, plain(interlace.Options{}), in)
		middle := out[len(out)/2]
		for i, y := range middle.Rows() {
			_, rows := middle.PlaneSize(i)
			edge := y < 4 || y >= rows-4
			if got, want := int(middle.Row(i, y)[1]), 100+10*y+3*i; got != want && (!edge || got < want-10 || got > want+10) {
				t.Errorf("height %d, plane %d, row %d: %d, not %d", height, i, y, got, want)
			}
		}
	}
}

// failing is an engine that fails in call number prepare or fill.
type failing struct {
	interlace.Engine
	prepare, fill int
}

var errFailing = errors.New("no")

func (f *failing) Prepare(ctx context.Context, in *pipeline.Frame, which plane.Field) (interlace.Field, error) {
	if f.prepare--; f.prepare == 0 {
		return nil, errFailing
	}
	return f.Engine.Prepare(ctx, in, which)
}

func (f *failing) Fill(ctx context.Context, j interlace.Job) (interlace.Wait, error) {
	if f.fill--; f.fill == 0 {
		return nil, errFailing
	}
	return f.Engine.Fill(ctx, j)
}

// Depth allows pictures in progress.
func (*failing) Depth() int { return 2 }

func TestFailures(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for _, e := range []*failing{{interlace.Plain{}, n, 0}, {interlace.Plain{}, 0, n}} {
			left, results := 0, pipeline.NewPool(enginetest.Memory{}, 3)
			f := interlace.NewFilter(e, results, interlace.Options{})
			emit := func(r *pipeline.Frame) error {
				r.Release()
				return nil
			}
			var err error
			for _, frame := range clip(small, nil, shots("ttttttp")) {
				left++
				own := pipeline.NewFrame(frame.Format, frame.Planes, nil, func() { left-- })
				own.CopyTiming(frame)
				if err = f.Process(context.Background(), own, emit); err != nil {
					break
				}
			}
			f.Discard()
			if !errors.Is(err, errFailing) || left != 0 || results.InUse() != 0 {
				t.Errorf("call %d: %v, %d frames and %d results are not released", n, err, left, results.InUse())
			}
		}
	}
}

// TestChroma checks the vertical position of chroma in 4:2:0, with a ramp that moves down. In
// MPEG-2 and H.264, a field's chroma row is a quarter or three quarters of the way between two luma
// rows of the field. In a progressive frame it is halfway between two luma rows of the frame.
func TestChroma(t *testing.T) {
	const slope, speed = 4, 3 // levels per row, levels per field
	colour := func(y float64, field int) float64 { return 60 + slope*y + speed*float64(field) }
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 4, Height: 32}
	in := clip(format, nil, shots("ttt"))
	for n, f := range in {
		for _, i := range []int{1, 2} {
			for r := range format.Height / 2 {
				bottom := r % 2
				first := float64(2*(r-bottom) + bottom) // of the two rows of luma in the field
				share := []float64{0.25, 0.75}[bottom]
				for x := range f.Row(i, r) {
					f.Row(i, r)[x] = byte(colour(first, 2*n+bottom)*(1-share) + colour(first+2, 2*n+bottom)*share)
				}
			}
		}
	}
	made := run(t, plain(interlace.Options{}), in)
	for field, f := range made {
		if field == 0 || field == len(made)-1 {
			continue // fields on one side alone cannot show a change of brightness
		}
		for r := 4; r < format.Height/2-4; r++ {
			want := (colour(float64(2*r), field) + colour(float64(2*r+1), field)) / 2
			if got := float64(f.Row(1, r)[1]); got < want-1 || got > want+1 {
				t.Errorf("field %d, row %d: %g, not %g", field, r, got, want)
			}
		}
	}
}
