package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// counting is a backend that counts the blocks in use.
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

// start starts a session, of the bilateral filter on the CPU unless o has others.
func start(t *testing.T, o Options) *rig {
	t.Helper()
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	r := &rig{t: t, memory: &counting{CPU: cpu}}
	if o.Backend == nil {
		o.Backend = r.memory
	}
	if o.Filter == (FilterSettings{}) {
		o.Filter = FilterOf(kernels.Select(kernels.DefaultBilateral(2)), "auto")
	}
	r.Session, err = New(o)
	e2e.Must(t, err)
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

// next returns the next pair, which the test releases.
func (r *rig) next(w *Watcher) *Pair {
	r.t.Helper()
	p, err := w.Next(r.ctx)
	e2e.Must(r.t, err)
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

// stops waits until the session has ended by itself.
func (r *rig) stops() {
	r.t.Helper()
	e2e.Until(r.t, "the end of the session", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.watchers == nil
	})
}

// hand is a source that takes a picture when the test asks for one.
type hand struct {
	shots chan Shot
	fail  chan error
	open  atomic.Int64
	cause atomic.Pointer[error] // why it cannot be opened, nil when it can
}

func newHand() *hand { return &hand{shots: make(chan Shot), fail: make(chan error)} }

// startHand starts a session whose pictures the test takes.
func startHand(t *testing.T, kind SourceKind, o Options) (*hand, *rig) {
	t.Helper()
	h := newHand()
	o.Input = h.input(kind)
	return h, start(t, o)
}

// watch starts a session whose pictures the test takes, and watches it.
func watch(t *testing.T, kind SourceKind, o Options) (*hand, *rig, *Watcher) {
	t.Helper()
	h, r := startHand(t, kind, o)
	w := r.Watch(1)
	t.Cleanup(w.Close)
	return h, r, w
}

// pass sends picture n, and waits for its pair.
func (h *hand) pass(r *rig, w *Watcher, n int) {
	r.t.Helper()
	h.take(r, n)
	r.next(w).Release()
}

func (h *hand) input(kind SourceKind) Input {
	return Input{Name: "hand", Kind: kind, Again: kind == Camera, Open: func(context.Context, *pipeline.Pool, StatusFunc) (Source, error) {
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

// take sends picture n, whose samples all differ from their neighbours.
func (h *hand) take(r *rig, n int) Shot {
	r.t.Helper()
	s := h.shot(r, n)
	select {
	case h.shots <- s:
	case <-r.ctx.Done():
		r.t.Fatal("nobody takes a picture")
	}
	return s
}

func (h *hand) shot(r *rig, n int) Shot {
	r.t.Helper()
	f, err := r.frames.TakeFrame(pipeline.Format{Layout: pipeline.YUV420P, Width: 32, Height: 18, Matrix: pipeline.BT601}, nil)
	e2e.Must(r.t, err)
	f.Video = &pipeline.Video{Aspect: pipeline.Ratio{Num: 4, Den: 3}}
	for i, y := range f.Rows() {
		for x := range f.Row(i, y) {
			f.Row(i, y)[x] = byte(100 + (x*7+y*5+n*3)%23)
		}
	}
	return shotAt(f, time.Unix(1000, int64(n)))
}

// filtered returns the reference result for a picture.
func filtered(t *testing.T, in *pipeline.Frame, f FilterSettings) []byte {
	t.Helper()
	p, err := f.Resolved()
	e2e.Must(t, err)
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	b, err := cpu.Filter(p.Main(), pool)
	e2e.Must(t, err)
	var all []byte
	err = b.Process(t.Context(), f.fields(in.Retain()), func(out *pipeline.Frame) error {
		all = samples(out)
		out.Release()
		return nil
	})
	e2e.Must(t, err)
	return all
}

func samples(f *pipeline.Frame) (all []byte) {
	for i, y := range f.Rows() {
		all = append(all, f.Row(i, y)...)
	}
	return all
}

func TestPairs(t *testing.T) {
	h, r, w := watch(t, Camera, Options{})
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
		e2e.Must(t, r.Set(func(f *FilterSettings) error {
			setWindow(f, func(b *kernels.Bilateral) { b.Radius++ })
			f.FieldOrder = "tff"
			return nil
		}))
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
	_, r := startHand(t, Camera, Options{})
	before, _ := r.State()
	for _, change := range []func(*FilterSettings){
		windowed(func(b *kernels.Bilateral) { b.Radius = 16 }), windowed(func(b *kernels.Bilateral) { b.Radius = -1 }), windowed(func(b *kernels.Bilateral) { b.SigmaR = 0 }),
		windowed(func(b *kernels.Bilateral) { b.SigmaS = -1 }), windowed(func(b *kernels.Bilateral) { b.SigmaR = math.NaN() }), windowed(func(b *kernels.Bilateral) { b.Range = 2 }),
		windowed(func(b *kernels.Bilateral) { b.Border = 4 }), func(f *FilterSettings) { f.FieldOrder = "up" },
	} {
		if r.Set(func(f *FilterSettings) error { change(f); return nil }) == nil {
			t.Error("an invalid filter was accepted")
		}
	}
	for _, change := range []string{
		`{"radius": 16}`, `{"radius": 1.5}`, `{"radius": "3"}`, `{"radius": 1e300}`, `{"sigma_r": 0}`, `{"sigma_r": null}`, `{"range": "box"}`,
		`{"range": 1}`, `{"filter": "box"}`, `{"field_order": "up"}`, `{"field_order": 1}`, `{"radius": 4, "border": "x"}`,
	} {
		if r.apply(change) == nil {
			t.Errorf("%s was accepted", change)
		}
	}
	if after, _ := r.State(); after.Filter != before.Filter {
		t.Errorf("%+v became %+v", before.Filter, after.Filter)
	}
}

// apply sets options as the page does.
func (r *rig) apply(text string) error {
	r.t.Helper()
	var changes map[string]any
	e2e.Must(r.t, json.Unmarshal([]byte(text), &changes))
	return r.Set(func(f *FilterSettings) error { return f.Apply(changes) })
}

// has reports whether the page shows a control.
func has(f FilterSettings, name string) bool {
	return slices.ContainsFunc(f.Controls(), func(c Control) bool { return c.Name == name })
}

// TestChoose switches filters: each has its own sigmas and controls.
func TestChoose(t *testing.T) {
	_, r := startHand(t, Camera, Options{})
	err := r.apply(`{"filter": "recursive"}`)
	st, _ := r.State()
	f := st.Filter
	if err != nil || f.Main() != kernels.Stage(kernels.DefaultRecursive()) {
		t.Errorf("%+v, %v", f, err)
	}
	if !has(f, "filter") || !has(f, "sigma_s") || !has(f, "iterations") || !has(f, "field_order") || has(f, "radius") || has(f, "range") {
		t.Errorf("controls of the recursive filter: %+v", f.Controls())
	}
	if r.apply(`{"iterations": 4}`) == nil {
		t.Error("4 iterations were accepted")
	}
	err = r.apply(`{"filter": "bilateral"}`)
	st, _ = r.State()
	f = st.Filter
	if err != nil || f.Main() != kernels.Stage(kernels.Bilateral{Radius: 2, SigmaR: 20}) || f.Automatic()["sigma_s"] != 1.5 {
		t.Errorf("back again: %+v, %v", f, err)
	}
	if !has(f, "filter") || !has(f, "sigma_s") || has(f, "iterations") || !has(f, "radius") || !has(f, "range") {
		t.Errorf("controls of the bilateral filter: %+v", f.Controls())
	}
}

// TestFilterJSON: the JSON of a filter, applied to another, gives the same filter.
func TestFilterJSON(t *testing.T) {
	p := kernels.DefaultBilateral(5)
	p.Range, p.Border, p.SigmaR = kernels.Gaussian, kernels.Clamp, 7.5
	want, got := FilterOf(kernels.Select(p), "tff"), FilterOf(kernels.Select(kernels.DefaultRecursive()), "auto")
	kernels.Edit(&want.Selection, func(r *kernels.Recursive) { r.Iterations = 3 })
	text, err := json.Marshal(want)
	e2e.Must(t, err)
	var changes map[string]any
	e2e.Must(t, json.Unmarshal(text, &changes))
	if err := got.Apply(changes); err != nil || got.Main() != want.Main() {
		t.Errorf("%s gives %+v, %v", text, got.Main(), err)
	}
	if again, err := json.Marshal(got); err != nil || string(again) != string(text) {
		t.Errorf("%s gives %s, %v", text, again, err)
	}
}

func TestFreeze(t *testing.T) {
	h, r, w := watch(t, Camera, Options{})
	h.take(r, 0)
	first := r.next(w)
	defer first.Release()
	r.Freeze(true)
	for n := range 4 {
		h.take(r, n+1) // not shown
	}
	e2e.Must(t, r.apply(`{"sigma_r": 90}`))
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

// A slow watcher gets the newest pair, and the dropped ones are counted.
func TestSlowWatcher(t *testing.T) {
	h, r := startHand(t, Camera, Options{})
	slow, quick := r.Watch(1), r.Watch(1)
	defer slow.Close()
	defer quick.Close()
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
	for _, when := range []string{"at first", "again"} {
		p := r.next(late)
		if p.ID != 5 {
			t.Errorf("a late watcher gets pair %d %s", p.ID, when)
		}
		p.Release()
		late.Again()
	}
	late.Close()
	late.Close()
}

type hinted struct{ error }

func (hinted) Hint() string { return "plug it in" }

// An absent camera is waited for, at the start and in the middle.
func TestCameraComesBack(t *testing.T) {
	h := newHand()
	h.cause.Store(new(error(hinted{errors.New("no such camera")})))
	r := start(t, Options{Input: h.input(Camera)})
	st := r.reach("waiting", func(st State) bool { return st.Status == Waiting })
	if st.Message != "no such camera" || st.Hint != "plug it in" {
		t.Errorf("%+v", st)
	}
	h.cause.Store(nil)
	w := r.Watch(1)
	defer w.Close()
	h.pass(r, w, 0)
	r.reach("live", func(st State) bool { return st.Status == Live })
	h.fail <- hinted{errors.New("pulled out")}
	r.reach("waiting again", func(st State) bool { return st.Message == "pulled out" })
	h.pass(r, w, 1)
	if n := h.open.Load(); n < 3 {
		t.Errorf("opened %d times", n)
	}
}

// When the source ends, only the pair on show keeps memory.
func TestMemoryGoesBack(t *testing.T) {
	h, r, w := watch(t, Camera, Options{})
	var pairs []*Pair
	for n := range 6 {
		h.take(r, n)
		pairs = append(pairs, r.next(w))
	}
	if n := r.memory.live.Load(); n < 12 {
		t.Fatalf("%d blocks of 6 pairs", n)
	}
	for _, p := range pairs[:4] { // idle before the end
		p.Release()
	}
	h.fail <- errors.New("pulled out")
	r.reach("waiting", func(st State) bool { return st.Status == Waiting })
	for _, p := range pairs[4:] { // and after it
		p.Release()
	}
	e2e.Until(t, "the blocks are freed", func() bool { return r.memory.live.Load() <= 2 })
}

func TestFileThatCannotBeOpened(t *testing.T) {
	h := newHand()
	h.cause.Store(new(errors.New("no such file")))
	r := start(t, Options{Input: h.input(File)})
	r.stops()
	if err := r.end(); err == nil || err.Error() != "no such file" {
		t.Errorf("Run: %v", err)
	}
}

func TestFileEndsAndStartsAgain(t *testing.T) {
	h, r, w := watch(t, File, Options{})
	h.pass(r, w, 0)
	h.fail <- io.EOF
	r.reach("ended", func(st State) bool { return st.Status == Ended })
	e2e.Must(t, r.apply(`{"radius": 5}`))
	p := r.next(w)
	if !p.Repeated { // the last picture can still be worked on
		t.Errorf("%+v", p)
	}
	p.Release()
	r.Restart()
	h.pass(r, w, 1)
	r.reach("live", func(st State) bool { return st.Status == Live })
}

func TestPatternKeepsItsSpeed(t *testing.T) {
	r := start(t, Options{Input: Input{Name: "test", Kind: Test, Open: OpenPattern(PatternOptions{Width: 160, Height: 90, FPS: 50})}})
	w := r.Watch(1)
	defer w.Close()
	r.next(w).Release()
	var last []byte
	for range 20 { // a busy machine drops pictures in some seconds
		began, n, before := time.Now(), 0, r.Figures()
		for ; time.Since(began) < time.Second; n++ {
			p := r.next(w)
			now := samples(p.Original)
			if bytes.Equal(now, last) {
				t.Fatal("the picture does not move")
			}
			last = now
			p.Release()
		}
		f := r.Figures()
		made := n + int(f.DroppedSource+f.DroppedFilter-before.DroppedSource-before.DroppedFilter)
		if n > 52 || f.SourceFPS > 60 || f.Filter <= 0 {
			t.Fatalf("%d pictures in a second, not 50: %+v", n, f)
		}
		if made >= 35 && f.SourceFPS >= 35 {
			return
		}
	}
	t.Errorf("never 50 pictures in a second: %+v", r.Figures())
}

// setWindow changes options of the bilateral filter.
func setWindow(f *FilterSettings, change func(*kernels.Bilateral)) {
	kernels.Edit(&f.Selection, change)
}

func windowed(change func(*kernels.Bilateral)) func(*FilterSettings) {
	return func(f *FilterSettings) { setWindow(f, change) }
}
