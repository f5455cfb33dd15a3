package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// counting is a backend that counts the blocks that are out.
type counting struct {
	*kernels.CPU
	live atomic.Int64
}

func (c *counting) Alloc(size int) (pipeline.Memory, error) {
	m, err := c.CPU.Alloc(size)
	if err != nil {
		return m, err
	}
	c.live.Add(1)
	free := m.Free
	m.Free = func() { c.live.Add(-1); free() }
	return m, nil
}

func (c *counting) Input() pipeline.Allocator { return c }

// rig is a session in a test.
type rig struct {
	*Session
	t      *testing.T
	ctx    context.Context
	memory *counting
	end    func() error // ends Run, and returns its error
}

func start(t *testing.T, in Input) *rig {
	t.Helper()
	cpu, err := kernels.NewCPU(1, "")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, memory: &counting{CPU: cpu}}
	if r.Session, err = New(Options{Input: in, Backend: r.memory, Filter: FilterOf(kernels.DefaultParams(2), "auto")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var stop context.CancelFunc
	r.ctx, stop = context.WithTimeout(t.Context(), 20*time.Second)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var result error
	ended := false
	r.end = func() error {
		if !ended {
			ended = true
			cancel()
			select {
			case result = <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("Run does not end")
			}
		}
		return result
	}
	t.Cleanup(func() {
		_ = r.end()
		stop()
		if n := r.memory.live.Load(); n != 0 {
			t.Errorf("%d blocks are still out", n)
		}
		_ = cpu.Close()
	})
	return r
}

// next returns a pair, which the test keeps until its end.
func (r *rig) next(w *Watcher) *Pair {
	r.t.Helper()
	p, err := w.Next(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// reach waits until the session's state is as wanted.
func (r *rig) reach(what string, ok func(State) bool) State {
	r.t.Helper()
	for {
		st, changed := r.State()
		if ok(st) {
			return st
		}
		select {
		case <-changed:
		case <-r.ctx.Done():
			r.t.Fatalf("never %s: %+v", what, st)
		}
	}
}

// hand is a source that takes a picture when the test says so.
type hand struct {
	shots chan Shot
	fail  chan error
	open  atomic.Int64
	cause atomic.Pointer[error] // why it cannot be opened, nil when it can
}

func newHand() *hand { return &hand{shots: make(chan Shot), fail: make(chan error)} }

func (h *hand) input(kind Kind) Input {
	return Input{Name: "hand", Kind: kind, Again: kind == Camera, Open: func(context.Context, *pipeline.Pool, Tell) (Source, error) {
		h.open.Add(1)
		if cause := h.cause.Load(); cause != nil {
			return nil, *cause
		}
		return h, nil
	}}
}

func (h *hand) Next(ctx context.Context) (Shot, error) {
	select {
	case s := <-h.shots:
		return s, nil
	case err := <-h.fail:
		return Shot{}, err
	case <-ctx.Done():
		return Shot{}, context.Cause(ctx)
	}
}

func (h *hand) FrameRate() float64 { return 25 }
func (h *hand) Close()             {}

// take sends a picture whose samples all differ from their neighbours', by n.
func (h *hand) take(r *rig, n int) Shot {
	r.t.Helper()
	f, err := r.frames.TakeFrame(pipeline.Format{Layout: pipeline.YUV420P, Width: 32, Height: 18, Matrix: pipeline.BT601}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		for y := range rows {
			for x := range f.Row(i, y) {
				f.Row(i, y)[x] = byte(100 + (x*7+y*5+n*3)%23)
			}
		}
	}
	s := shotAt(f, time.Unix(1000, int64(n)))
	select {
	case h.shots <- s:
	case <-r.ctx.Done():
		r.t.Fatal("nobody takes a picture")
	}
	return s
}

// filtered returns what the reference makes of a picture.
func filtered(t *testing.T, in *pipeline.Frame, f Filter) []byte {
	t.Helper()
	p, err := f.Params()
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := kernels.NewCPU(1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer cpu.Close()
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	b, err := cpu.Filter(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	err = b.Process(t.Context(), f.fields(in.Retain()), func(out *pipeline.Frame) error {
		all = samples(out)
		out.Release()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func samples(f *pipeline.Frame) (all []byte) {
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		for y := range rows {
			all = append(all, f.Row(i, y)...)
		}
	}
	return all
}

func TestPairs(t *testing.T) {
	h := newHand()
	r := start(t, h.input(Camera))
	w := r.Watch(1)
	defer w.Close()
	for r.State(); h.open.Load() == 0; time.Sleep(time.Millisecond) {
	}
	for n := range 3 {
		shot := h.take(r, n)
		p := r.next(w)
		st, _ := r.State()
		if p.ID != int64(2*n+1) || !p.Taken.Equal(shot.Taken) || p.Stamp != shot.Stamp || p.Repeated {
			t.Errorf("pair %d: %+v", n, p)
		}
		if !bytes.Equal(samples(p.Filtered), filtered(t, p.Original, st.Filter)) {
			t.Errorf("pair %d is not filtered as %+v", n, st.Filter)
		}
		if bytes.Equal(samples(p.Filtered), samples(p.Original)) {
			t.Error("the filter does nothing: the test shows nothing")
		}
		p.Release()
		if err := r.Set(func(f *Filter) { f.Radius++; f.FieldOrder = "tff" }); err != nil {
			t.Fatal(err)
		}
		p = r.next(w) // the same picture by the new filter
		st, _ = r.State()
		if !p.Repeated || !bytes.Equal(samples(p.Filtered), filtered(t, p.Original, st.Filter)) {
			t.Errorf("the picture %d is not filtered anew: %+v", n, p)
		}
		p.Release()
	}
	st := r.reach("live", func(st State) bool { return st.Status == Live })
	if st.Width != 32 || st.Height != 18 || st.FrameRate != 25 {
		t.Errorf("%+v", st)
	}
	if err := r.end(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if _, err := w.Next(r.ctx); !errors.Is(err, errClosed) {
		t.Errorf("Next after the end: %v", err)
	}
}

func TestSetRefusesNonsense(t *testing.T) {
	h := newHand()
	r := start(t, h.input(Camera))
	before, _ := r.State()
	for _, change := range []func(*Filter){
		func(f *Filter) { f.Radius = 16 }, func(f *Filter) { f.Radius = -1 }, func(f *Filter) { f.SigmaR = 0 }, func(f *Filter) { f.SigmaS = -1 },
		func(f *Filter) { f.Range = "box" }, func(f *Filter) { f.Distance = "" }, func(f *Filter) { f.Border = "x" }, func(f *Filter) { f.FieldOrder = "up" },
	} {
		if r.Set(change) == nil {
			t.Error("a filter that cannot be was taken")
		}
	}
	if after, _ := r.State(); after.Filter != before.Filter {
		t.Errorf("%+v became %+v", before.Filter, after.Filter)
	}
}

// TestChoose: another filter has sigmas of its own, limits of its own, and nothing of what only the first one had.
func TestChoose(t *testing.T) {
	h := newHand()
	r := start(t, h.input(Camera))
	err := r.Set(func(f *Filter) { f.Choose("recursive") })
	st, _ := r.State()
	f, l := st.Filter, st.Filter.Limits()
	if err != nil || f.Filter != "recursive" || f.SigmaS != 10 || f.SigmaR != 20 || f.Iterations != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	if l.Radius != nil || l.Range != nil || l.Iterations == nil || l.SigmaS[1] < 100 {
		t.Errorf("%+v", l)
	}
	if r.Set(func(f *Filter) { f.Iterations = 4 }) == nil || r.Set(func(f *Filter) { f.Choose("box") }) == nil {
		t.Error("a filter that cannot be was taken")
	}
	err = r.Set(func(f *Filter) { f.Choose("bilateral") })
	st, _ = r.State()
	f, l = st.Filter, st.Filter.Limits()
	if err != nil || f.Radius != 2 || f.SigmaS != 0 || l.Radius == nil || l.Iterations != nil {
		t.Errorf("back again: %+v, %+v, %v", f, l, err)
	}
}

func TestFreeze(t *testing.T) {
	h := newHand()
	r := start(t, h.input(Camera))
	w := r.Watch(1)
	defer w.Close()
	for h.open.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	h.take(r, 0)
	first := r.next(w)
	defer first.Release()
	r.Freeze(true)
	for n := range 4 {
		h.take(r, n+1) // none of them is seen
	}
	if err := r.Set(func(f *Filter) { f.SigmaR = 90 }); err != nil {
		t.Fatal(err)
	}
	p := r.next(w)
	if !p.Repeated || !bytes.Equal(samples(p.Original), samples(first.Original)) || bytes.Equal(samples(p.Filtered), samples(first.Filtered)) {
		t.Errorf("frozen, and filtered anew: %+v", p)
	}
	p.Release()
	r.Freeze(false)
	h.take(r, 9)
	p = r.next(w)
	if p.Repeated || bytes.Equal(samples(p.Original), samples(first.Original)) {
		t.Error("it does not go on")
	}
	p.Release()
}

// Who does not ask gets the newest, and what was left out is counted.
func TestSlowWatcher(t *testing.T) {
	h := newHand()
	r := start(t, h.input(Camera))
	slow, quick := r.Watch(1), r.Watch(1)
	defer slow.Close()
	defer quick.Close()
	for h.open.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	for n := range 5 {
		h.take(r, n)
		r.next(quick).Release()
	}
	p := r.next(slow)
	if p.ID != 5 || slow.Dropped() != 4 || quick.Dropped() != 0 {
		t.Errorf("pair %d, %d and %d dropped", p.ID, slow.Dropped(), quick.Dropped())
	}
	p.Release()
	late := r.Watch(1)
	if p := r.next(late); p.ID != 5 {
		t.Errorf("who comes late begins with %d", p.ID)
	} else {
		p.Release()
	}
	late.Again()
	if p := r.next(late); p.ID != 5 {
		t.Errorf("again: %d", p.ID)
	} else {
		p.Release()
	}
	late.Close()
	late.Close()
}

type hinted struct{ error }

func (hinted) Hint() string { return "plug it in" }

// A camera that is away is waited for, at the start and in the middle.
func TestCameraComesBack(t *testing.T) {
	h := newHand()
	h.cause.Store(new(error(hinted{errors.New("no such camera")})))
	r := start(t, h.input(Camera))
	st := r.reach("waiting", func(st State) bool { return st.Status == Waiting })
	if st.Message != "no such camera" || st.Hint != "plug it in" {
		t.Errorf("%+v", st)
	}
	h.cause.Store(nil)
	w := r.Watch(1)
	defer w.Close()
	h.take(r, 0)
	r.next(w).Release()
	r.reach("live", func(st State) bool { return st.Status == Live })
	h.fail <- hinted{errors.New("pulled out")}
	r.reach("waiting again", func(st State) bool { return st.Message == "pulled out" })
	h.take(r, 1)
	r.next(w).Release()
	if n := h.open.Load(); n < 3 {
		t.Errorf("opened %d times", n)
	}
}

func TestFileThatCannotBeOpened(t *testing.T) {
	h := newHand()
	h.cause.Store(new(errors.New("no such file")))
	r := start(t, h.input(File))
	for h.open.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	if err := r.end(); err == nil || err.Error() != "no such file" {
		t.Errorf("Run: %v", err)
	}
}

func TestFileEndsAndStartsAgain(t *testing.T) {
	h := newHand()
	r := start(t, h.input(File))
	w := r.Watch(1)
	defer w.Close()
	for h.open.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	h.take(r, 0)
	r.next(w).Release()
	h.fail <- io.EOF
	r.reach("ended", func(st State) bool { return st.Status == Ended })
	if err := r.Set(func(f *Filter) { f.Radius = 5 }); err != nil {
		t.Fatal(err)
	}
	if p := r.next(w); !p.Repeated { // the last picture can still be worked on
		t.Errorf("%+v", p)
	} else {
		p.Release()
	}
	r.Restart()
	h.take(r, 1)
	r.next(w).Release()
	r.reach("live", func(st State) bool { return st.Status == Live })
}

func TestPatternKeepsItsSpeed(t *testing.T) {
	r := start(t, Input{Name: "test", Kind: Test, Open: OpenPattern(PatternOptions{Width: 160, Height: 90, FPS: 50})})
	w := r.Watch(1)
	defer w.Close()
	r.next(w).Release()
	began, n := time.Now(), 0
	var last []byte
	for ; time.Since(began) < time.Second; n++ {
		p := r.next(w)
		now := samples(p.Original)
		if bytes.Equal(now, last) {
			t.Fatal("the picture does not move")
		}
		last = now
		p.Release()
	}
	if n < 35 || n > 52 {
		t.Errorf("%d pictures in a second, not 50", n)
	}
	if f := r.Figures(); f.SourceFPS < 35 || f.SourceFPS > 55 || f.FPS < 35 || f.Filter <= 0 {
		t.Errorf("%+v", f)
	}
}
