package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestPools: with any pool size, and a source and a sink that are slow by turns, frames come out
// in order without deadlock.
func TestPools(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	p := kernels.DefaultBilateral(1)
	for streams := 1; streams <= 3; streams++ {
		b := open(t, Options{Streams: streams, All: true})
		for limit := 1; limit <= b.held()+2; limit++ {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			film := newFilm(t, b, smallFormat, 13)
			s := &screen{t: t, answers: film.answers(t, p), delay: time.Duration(limit%2) * time.Millisecond}
			if err := show(t, ctx, b, film, s, p, limit); err != nil || s.seen != 13 {
				t.Errorf("%d streams, %d blocks: %d frames, %v", streams, limit, s.seen, err)
			}
			cancel()
		}
	}
}

// TestFormats: layouts and sizes may change mid-stream, with frames still in flight.
func TestFormats(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{Streams: 3})
	pool := pipeline.NewPool(b, 2)
	defer pool.Close()
	p := kernels.DefaultBilateral(2)
	f, err := b.Filter(p, pool)
	e2e.Must(t, err)
	layouts := []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.YUV444P, pipeline.RGBA, pipeline.YUV422P}
	var want []*pipeline.Frame
	next := 0
	emit := func(out *pipeline.Frame) error {
		defer out.Release()
		if d := kerneltest.Compare(out, want[next]); out.Format != want[next].Format || d.Largest > 1 {
			t.Errorf("frame %d is %v, should be %v: %s", next, out.Format, want[next].Format, d)
		}
		next++
		return nil
	}
	for i := range 20 {
		format := pipeline.Format{Layout: layouts[i/3%5], Width: 20 + 30*(i/6), Height: 33, Matrix: pipeline.BT601}
		film := newFilm(t, b, format, 1)
		want = append(want, reference(t, film.scenes[0], p))
		in, err := film.frame(0)
		e2e.Must(t, err)
		e2e.Must(t, f.Process(context.Background(), in, emit))
	}
	if err := f.Flush(context.Background(), emit); err != nil || next != 20 {
		t.Errorf("%d frames, %v", next, err)
	}
}

// TestHeld: a filter keeps the number of frames that Held returns, and no frame after Flush.
func TestHeld(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{Streams: 2})
	pool := pipeline.NewPool(b, 9)
	defer pool.Close()
	f, err := b.Filter(kernels.DefaultBilateral(1), pool)
	e2e.Must(t, err)
	film := newFilm(t, b, smallFormat, 9)
	out := 0
	emit := func(f *pipeline.Frame) error { f.Release(); out++; return nil }
	for i := range 9 {
		in, err := film.frame(i)
		e2e.Must(t, err)
		e2e.Must(t, f.Process(context.Background(), in, emit))
		if held := i + 1 - out; held > f.Held() || held < 0 {
			t.Errorf("holds %d frames after %d, said at most %d", held, i+1, f.Held())
		}
	}
	if err := f.Flush(context.Background(), emit); err != nil || out != 9 || pool.InUse() != 0 {
		t.Errorf("%d frames, %d in use, %v", out, pool.InUse(), err)
	}
	s := b.Stats()
	if in, kernel, back := s.PerFrame(1); s.Frames != 9 || in <= 0 || kernel <= 0 || back <= 0 || s.Overlap() < 0.5 || s.Overlap() > 3 {
		t.Errorf("measured %+v, overlap %g", s, s.Overlap())
	}
	if c := b.ColdStart(); c.Driver <= 0 || c.Context <= 0 || c.Module <= 0 || c.Buffers <= 0 || c.First < c.Driver {
		t.Errorf("cold start %v", c)
	}
}

// TestTooEarly: the test driver exposes a host that reads results too early, so the other tests
// would fail if the filter did.
func TestTooEarly(t *testing.T) {
	if !onDriver(t, "order=1") {
		return
	}
	b := open(t, Options{})
	pool := pipeline.NewPool(b, 1)
	defer pool.Close()
	film := newFilm(t, b, smallFormat, 1)
	p := kernels.DefaultBilateral(1)
	want := film.answers(t, p)[0]
	f, err := b.Filter(p, pool)
	e2e.Must(t, err)
	in, err := film.frame(0)
	e2e.Must(t, err)
	e2e.Must(t, f.Process(context.Background(), in, nil))
	if d := kerneltest.Compare(f.(*filter).flights[0].out, want); d.Largest < 2 {
		t.Error("the result was there before anything waited for it")
	}
	err = f.Flush(context.Background(), func(out *pipeline.Frame) error {
		defer out.Release()
		if d := kerneltest.Compare(out, want); d.Largest > 1 {
			t.Error(d)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDiscard: discarded frames come back even if the device is still working on them.
func TestDiscard(t *testing.T) {
	if !onDriver(t, "slow=20ms") {
		return
	}
	b := open(t, Options{Streams: 3})
	pool := pipeline.NewPool(b, 4)
	film := newFilm(t, b, smallFormat, 3)
	f, err := b.Filter(kernels.DefaultBilateral(1), pool)
	e2e.Must(t, err)
	for i := range 3 {
		in, err := film.frame(i)
		e2e.Must(t, err)
		e2e.Must(t, f.Process(context.Background(), in, func(*pipeline.Frame) error { return errors.New("too early") }))
	}
	f.(pipeline.Discarder).Discard()
	f.(pipeline.Discarder).Discard()
	if pool.InUse() != 0 {
		t.Errorf("%d results were never released", pool.InUse())
	}
	pool.Close()
}

// TestCancel: a context that ends during a wait for a slow device ends the wait, with its cause.
func TestCancel(t *testing.T) {
	if !onDriver(t, "slow=400ms") {
		return
	}
	b := open(t, Options{Streams: 1})
	film := newFilm(t, b, smallFormat, 100)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	began := time.Now()
	s := &screen{t: t, answers: film.answers(t, kernels.DefaultBilateral(1))}
	if err := show(t, ctx, b, film, s, kernels.DefaultBilateral(1), 2); !errors.Is(err, cause) {
		t.Error(err)
	}
	if d := time.Since(began); d > 10*time.Second { // a quarter of the film
		t.Errorf("took %v", d)
	}
}

// TestMemory: blocks may be freed after the backend is closed, but no longer allocated.
func TestMemory(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b, err := Open(Options{})
	e2e.Must(t, err)
	m, err := b.Alloc(1000)
	if err != nil || len(m.Bytes) != 1000 {
		t.Fatal(len(m.Bytes), err)
	}
	n, err := b.Alloc(0)
	e2e.Must(t, err)
	clear(m.Bytes)
	m.Free()
	n.Free()
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	m.Free()
	if _, err := b.Alloc(10); err == nil {
		t.Error("a closed backend gave memory")
	}
}

func TestOpenErrors(t *testing.T) {
	if !onDriver(t, "compute=90/52,devices=3") {
		return
	}
	for _, o := range []Options{{Streams: -1}, {Streams: 9}, {Indexes: []int{3}}, {Indexes: []int{0, -1}}, {Indexes: []int{1}}} {
		b, err := Open(o)
		if !errors.Is(err, ErrDevice) || b != nil {
			t.Errorf("%+v: %v, %v", o, b, err)
		}
	}
	b := open(t, Options{All: true})
	if want := "cuda:0 (vidfilter test device, 3 streams)"; b.Name() != want {
		t.Errorf("all devices that can be used are %q, want %q", b.Name(), want)
	}
	if _, err := b.Filter(kernels.DefaultBilateral(16), nil); err == nil {
		t.Error("radius 16 was taken")
	}
	if fmt.Sprint(b.units[0].Device) != "cuda:0" {
		t.Error(b.units[0])
	}
}

// bare is a stage without a form, and onHost one that needs no device.
type (
	bare   struct{}
	onHost struct{ bare }
)

var bareFilter = &kernels.FilterType{Name: "bare", Zero: bare{}}

func (bare) Filter() *kernels.FilterType { return bareFilter }
func (bare) Takes(pipeline.Layout) bool  { return true }
func (bare) Identity() bool              { return false }
func (bare) Window() pipeline.Window     { return pipeline.Window{} }
func (onHost) OnHost(*pipeline.Pool, kernels.Setting) (pipeline.Filter, error) {
	return pipeline.Pass{}, nil
}

// TestForms: a stage that needs no device is opened, and one without a form is refused.
func TestForms(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	if f, err := b.Filter(onHost{}, nil); err != nil || f != (pipeline.Filter)(pipeline.Pass{}) || b.Can(onHost{}) != nil || b.Held(onHost{}) != 0 {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := b.Filter(bare{}, nil); err == nil || !strings.Contains(err.Error(), "the bare filter has no form for GPUs") || b.Can(bare{}) == nil {
		t.Errorf("a stage without a form: %v", err)
	}
}
