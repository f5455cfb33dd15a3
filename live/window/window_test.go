package window

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/pipeline"
)

// open opens a window without a screen or a GPU.
func open(t *testing.T, o Options) *Window {
	t.Helper()
	t.Setenv("SDL_VIDEODRIVER", "dummy")
	t.Setenv("SDL_RENDER_DRIVER", "software")
	w, err := Open(o)
	if err != nil && strings.Contains(err.Error(), "not installed") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if got := w.Driver(); got != "dummy, software" {
		t.Errorf("drawn by %s", got)
	}
	return w
}

type rgb [3]float64

// frame draws a picture of four colours, a quarter each. Chroma is that of the first pixel it
// covers.
func frame(f pipeline.Format, colours [4]rgb, released *atomic.Int32) *pipeline.Frame {
	offsets, pitches, size := f.PlanLayout(1)
	b := make([]byte, size)
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		planes[i] = pipeline.Plane{Data: b[offsets[i]:][:pitches[i]*rows], Pitch: pitches[i]}
	}
	p := pipeline.NewFrame(f, planes, nil, func() { released.Add(1) })
	for i := range f.NumPlanes() {
		wide, rows := f.PlaneSize(i)
		for y := range rows {
			for x := range wide {
				p.Row(i, y)[x] = sample(f, colours, i, x, y)
			}
		}
	}
	return p
}

// sample is byte x of row y of plane i.
func sample(f pipeline.Format, colours [4]rgb, i, x, y int) byte {
	column, channel, sx, sy := x, i, 0, 0
	if f.Layout == pipeline.RGBA {
		column, channel = x/4, x%4
		if channel == 3 {
			return 7 // alpha means nothing
		}
	} else if i > 0 {
		sx, sy = f.ChromaShift()
		if f.Layout == pipeline.NV12 {
			column, channel = x/2, 1+x%2
		}
	}
	c := colours[quarter(f, column<<sx, y<<sy)]
	if f.Layout == pipeline.RGBA {
		return byte(c[channel])
	}
	return byte(math.Round(yuv(f, c)[channel]))
}

func quarter(f pipeline.Format, x, y int) int {
	q := 0
	if x >= f.Width/2&^1 {
		q++
	}
	if y >= f.Height/2&^1 {
		q += 2
	}
	return q
}

// yuv is the matrix as in the standards.
func yuv(f pipeline.Format, c rgb) [3]float64 {
	k := map[pipeline.Matrix][2]float64{pipeline.BT601: {0.299, 0.114}, pipeline.BT709: {0.2126, 0.0722}, pipeline.BT2020: {0.2627, 0.0593}}[f.Matrix]
	y := k[0]*c[0] + (1-k[0]-k[1])*c[1] + k[1]*c[2]
	u, v := (c[2]-y)/(2-2*k[1]), (c[0]-y)/(2-2*k[0])
	if f.FullRange {
		return [3]float64{y, u + 128, v + 128}
	}
	return [3]float64{16 + y*219/255, u*224/255 + 128, v*224/255 + 128}
}

var (
	before = [4]rgb{{200, 60, 40}, {50, 180, 90}, {30, 60, 220}, {255, 255, 255}}
	after  = [4]rgb{{180, 70, 50}, {60, 160, 100}, {50, 70, 190}, {0, 0, 0}}
)

// Original and filtered pictures have the right place and colours in every layout, matrix and
// range.
func TestPictures(t *testing.T) {
	w := open(t, Options{})
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.YUV422P, pipeline.YUV444P, pipeline.RGBA} {
		for _, matrix := range []pipeline.Matrix{pipeline.BT601, pipeline.BT709, pipeline.BT2020} {
			for _, full := range []bool{false, true} {
				for _, size := range [][2]int{{64, 48}, {61, 35}} {
					f := pipeline.Format{Layout: layout, Width: size[0], Height: size[1], Matrix: matrix, FullRange: full}
					t.Run(fmt.Sprint(f, matrix, full), func(t *testing.T) { testPicture(t, w, f) })
				}
			}
		}
	}
}

func testPicture(t *testing.T, w *Window, f pipeline.Format) {
	var released atomic.Int32
	pair := (&live.Pair{Original: frame(f, before, &released), Filtered: frame(f, after, &released)}).Retain()
	w.thread.do(func() {
		w.view = newView()
		w.resize(f.Width, f.Height)
		w.take(pair)
		w.view.line = 0.75
	})
	middle := int(math.Round(float64(f.Width) * 0.75))
	shows(t, w, f, "split", func(x, y int) (c [4]rgb, line bool) {
		line = x == middle-1 || x == middle
		if x < middle {
			return before, line
		}
		return after, line
	})
	w.thread.do(func() { w.view.swap = true; w.view.line = 0.25 })
	middle = int(math.Round(float64(f.Width) * 0.25))
	shows(t, w, f, "swapped", func(x, y int) (c [4]rgb, line bool) {
		line = x == middle-1 || x == middle
		if x < middle {
			return after, line
		}
		return before, line
	})
	for m, c := range map[mode][4]rgb{original: before, filtered: after, apart: apartColours()} {
		w.thread.do(func() { w.view.mode = m })
		shows(t, w, f, fmt.Sprint("mode ", m), func(int, int) ([4]rgb, bool) { return c, false })
	}
	w.thread.do(func() { w.take(nil) })
	if released.Load() != 2 {
		t.Errorf("%d of 2 frames are released", released.Load())
	}
	shows(t, w, f, "nothing", func(int, int) ([4]rgb, bool) { return [4]rgb{}, false })
}

func apartColours() (c [4]rgb) {
	for i := range c {
		for j := range c[i] {
			c[i][j] = min(255, gain*math.Abs(before[i][j]-after[i][j]))
		}
	}
	return c
}

// shows compares the drawn pixels, except at the seams of the quarters, where SDL may interpolate.
func shows(t *testing.T, w *Window, f pipeline.Format, what string, want func(x, y int) (c [4]rgb, line bool)) {
	t.Helper()
	var pixels []byte
	var width, height int
	var err error
	w.thread.do(func() {
		if err = w.draw(); err == nil {
			pixels, width, height = w.pixels()
		}
	})
	if err != nil || width != f.Width || height != f.Height {
		t.Fatalf("%s: drawn %dx%d: %v", what, width, height, err)
	}
	tolerance := 3.0 // of 8 bits twice, and of SDL's arithmetic
	if what == "mode 3" {
		tolerance = 2 * gain
	}
	for y := range height {
		for x := range width {
			if qx, qy := f.Width/2&^1, f.Height/2&^1; x >= qx-1 && x <= qx || y >= qy-1 && y <= qy {
				continue
			}
			c, line := want(x, y)
			expected := c[quarter(f, x, y)]
			if line {
				expected = rgb{255, 255, 255}
			}
			for i, e := range expected {
				if got := float64(pixels[4*(y*width+x)+i]); math.Abs(got-e) > tolerance {
					t.Fatalf("%s: at %d, %d channel %d is %v, want %v", what, x, y, i, got, e)
				}
			}
		}
	}
}

// A window of another shape shows the whole picture centred, and the pointer moves the line; when
// zoomed, dragging moves the picture.
func TestPointer(t *testing.T) {
	w := open(t, Options{})
	f := pipeline.Format{Layout: pipeline.YUV420P, Width: 100, Height: 50, Matrix: pipeline.BT709}
	var released atomic.Int32
	pair := (&live.Pair{Original: frame(f, before, &released), Filtered: frame(f, after, &released)}).Retain()
	pixel := func(x, y int) (p rgb) {
		w.thread.do(func() {
			if err := w.draw(); err != nil {
				t.Error(err)
			}
			pixels, width, _ := w.pixels()
			for i := range p {
				p[i] = float64(pixels[4*(y*width+x)+i])
			}
		})
		return p
	}
	near := func(what string, x, y int, want rgb) {
		t.Helper()
		got := pixel(x, y)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 3 {
				t.Errorf("%s: %v at %d, %d, want %v", what, got, x, y, want)
				return
			}
		}
	}
	w.thread.do(func() { w.resize(400, 400); w.take(pair) })
	near("above the picture", 20, 90, rgb{})
	near("left", 20, 120, before[0])
	near("right", 380, 120, after[1])
	near("line", 200, 150, rgb{255, 255, 255})
	w.thread.do(func() { w.handle(&event{kind: 0x400, x: 10, y: 120}) }) // it moves
	near("behind the line", 20, 120, after[0])
	w.thread.do(func() { w.handle(&event{kind: 0x401, x: 390, y: 120, buttons: 1}) }) // pressed
	near("before the line", 380, 120, before[1])
	w.thread.do(func() { w.handle(&event{kind: 0x403, dy: 4}) })
	near("zoomed", 20, 120, before[1])
	w.thread.do(func() { w.handle(&event{kind: 0x400, x: 390, y: 300, dx: 380, dy: 0, buttons: 1}) })
	near("dragged", 20, 120, before[0])
	w.thread.do(func() { w.take(nil) })
}

// rig is a session that a window shows.
type rig struct {
	*Window
	t       *testing.T
	session *live.Session
	done    chan error
	cancel  context.CancelCauseFunc

	mu   sync.Mutex
	said []string
}

func look(t *testing.T, in live.Input) *rig {
	t.Helper()
	return lookFor(t, in, Options{})
}

func lookFor(t *testing.T, in live.Input, o Options) *rig {
	t.Helper()
	r := &rig{t: t, done: make(chan error, 1)}
	o.Name, o.Say, o.Opened = "test", r.say, func() { r.say("the window is open") }
	r.Window = open(t, o)
	cpu, err := kernels.NewCPU(1, "")
	if err != nil {
		t.Fatal(err)
	}
	r.session, err = live.New(live.Options{Input: in, Backend: cpu, Filter: live.FilterOf(kernels.DefaultParams(2), "auto")})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancelCause(t.Context())
	ran := make(chan struct{})
	go func() { defer close(ran); _ = r.session.Run(ctx) }()
	go func() { r.done <- r.Run(ctx, r.session) }()
	t.Cleanup(func() { r.cancel(nil); <-ran; _ = cpu.Close() })
	return r
}

var pattern = live.Input{Name: "test", Kind: live.Test, Open: live.OpenPattern(live.PatternOptions{Width: 64, Height: 48, FPS: 60})}

var noCamera = live.Input{Name: "gone", Kind: live.Camera, Again: true,
	Open: func(context.Context, *pipeline.Pool, live.Tell) (live.Source, error) {
		return nil, errors.New("no camera")
	}}

func (r *rig) say(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, s)
}

func (r *rig) heard(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.said, "\n"), part)
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("never: %s", what)
		}
	}
}

// ended waits for the end of Run.
func (r *rig) ended() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(10 * time.Second):
		r.t.Fatal("Run does not end")
		return nil
	}
}

func (r *rig) hit(keys ...int) {
	for _, k := range keys {
		push(event{kind: 0x300, key: k})
	}
}

func (r *rig) state() live.State {
	st, _ := r.session.State()
	return st
}

func TestKeys(t *testing.T) {
	r := look(t, pattern)
	r.until("the window opens", func() bool { return r.heard("the window is open") })
	push(event{kind: 0x300, key: ' ', mods: 0x40}) // with Ctrl it is not ours
	push(event{kind: 0x300, key: ' ', repeat: true})
	r.hit(up, '+', padPlus, down)
	r.until("radius 4", func() bool { return r.state().Filter.Radius == 4 })
	if r.state().Frozen {
		t.Error("Ctrl-space, or a space that is held, freezes")
	}
	for range 20 {
		r.hit('=')
	}
	r.hit(right, ']', '[')
	r.until("the largest radius, and a larger sigma", func() bool { return r.state().Filter.Radius == kernels.MaxRadius && r.state().Filter.SigmaR == 22 })
	for range 20 {
		r.hit('-')
	}
	r.until("radius 0", func() bool { return r.state().Filter.Radius == 0 })
	r.hit(' ')
	r.until("frozen", func() bool { return r.state().Frozen })
	r.hit(' ', 'h')
	r.until("not frozen", func() bool { return !r.state().Frozen })
	r.until("the keys are listed", func() bool { return r.heard("F11") })
	r.hit('d', 'o', 'f', 's', 'x', '0', f11, escape) // the last leaves the full screen
	r.hit(' ')
	r.until("still there", func() bool { return r.state().Frozen })
	r.hit('q')
	if err := r.ended(); err != nil {
		t.Errorf("q ends it with %v", err)
	}
	if v := r.view; v.mode != split || !v.swap || r.full {
		t.Errorf("view %+v, full screen %v", v, r.full)
	}
	if r.pair != nil || r.inbox.Load() != nil {
		t.Error("a pair is kept")
	}
}

func TestEnds(t *testing.T) {
	for what, e := range map[string]event{
		"Escape": {kind: 0x300, key: escape}, "the close button": {kind: 0x200, window: 14}, "the desktop": {kind: 0x100},
	} {
		r := look(t, pattern)
		r.until("the window opens", func() bool { return r.heard("the window is open") })
		push(e)
		if err := r.ended(); err != nil {
			t.Errorf("%s ends it with %v", what, err)
		}
		r.Window.Close()
	}
}

// The end of the context wakes an idle window.
func TestWoken(t *testing.T) {
	r := lookFor(t, noCamera, Options{idle: 3600e3})
	time.Sleep(50 * time.Millisecond) // it waits by then, most likely
	reason := errors.New("that will do")
	r.cancel(reason)
	if err := r.ended(); err != reason {
		t.Errorf("ended by %v, want %v", err, reason)
	}
}

// Display times are measured, and a window without a picture opens once it is known that none will
// come.
func TestShown(t *testing.T) {
	r := look(t, pattern)
	r.until("the window opens", func() bool { return r.heard("the window is open") })
	time.Sleep(300 * time.Millisecond)
	r.hit('q')
	_ = r.ended()
	now := time.Now()
	if ms := r.latency.Median(now); ms <= 0 || ms > 1000 {
		t.Errorf("latency %v ms", ms)
	}
	if fps := r.frames.Rate(now); fps < 5 || fps > 70 {
		t.Errorf("%v pictures a second of 60", fps)
	}
	r.Window.Close()

	r = look(t, live.Input{Name: "gone", Kind: live.Camera, Again: true,
		Open: func(context.Context, *pipeline.Pool, live.Tell) (live.Source, error) {
			return nil, errors.New("no camera")
		}})
	r.until("the window opens", func() bool { return r.heard("the window is open") })
	r.hit('d', 'o', 's')
	push(event{kind: 0x400, x: 10})
	push(event{kind: 0x403, dy: 1})
	r.hit('q')
	if err := r.ended(); err != nil {
		t.Error(err)
	}
}

// Rotated pictures are drawn upright, and wide pixels wide.
func TestDisplay(t *testing.T) {
	w := open(t, Options{})
	f := pipeline.Format{Layout: pipeline.YUV420P, Width: 100, Height: 50, Matrix: pipeline.BT709}
	var released atomic.Int32
	pair := (&live.Pair{Original: frame(f, before, &released), Filtered: frame(f, after, &released)}).Retain()
	for _, c := range []struct {
		display pipeline.Display
		ratio   float64 // width for height
		at      [4]int  // stored quarter shown at top left, top right, bottom left, bottom right
	}{
		{pipeline.Display{}, 2, [4]int{0, 1, 2, 3}}, {pipeline.Display{Turn: 90}, 0.5, [4]int{2, 0, 3, 1}},
		{pipeline.Display{Turn: 180}, 2, [4]int{3, 2, 1, 0}}, {pipeline.Display{Turn: 270}, 0.5, [4]int{1, 3, 0, 2}}, {pipeline.Display{Aspect: 1.5}, 3, [4]int{0, 1, 2, 3}},
	} {
		var pixels []byte
		var width int
		var b box
		w.thread.do(func() {
			w.display, w.view.mode = c.display, original
			w.take(pair.Retain())
			if err := w.draw(); err != nil {
				t.Error(err)
			}
			pixels, width, _ = w.pixels()
			b = w.place()
		})
		if got := float64(b.w) / float64(b.h); math.Abs(got-c.ratio) > 0.03*c.ratio {
			t.Errorf("%+v: drawn %dx%d", c.display, b.w, b.h)
		}
		for i, quarter := range c.at {
			x, y := b.x+b.w/4+i%2*b.w/2, b.y+b.h/4+i/2*b.h/2
			for j, want := range before[quarter] {
				if got := float64(pixels[4*(y*width+x)+j]); math.Abs(got-want) > 12 {
					t.Errorf("%+v: quarter %d has %v in channel %d, want %v", c.display, i, got, j, want)
				}
			}
		}
	}
	w.thread.do(func() { w.take(nil) })
	pair.Release()
}

// Machines without SDL, with a broken one, and without a display.
func TestNoWindow(t *testing.T) {
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	t.Setenv("SDL_VIDEODRIVER", "")
	for _, c := range []struct{ library, says, hint string }{
		{"libSDL2-not-there.so.0", "not installed", "libsdl2-2.0-0"},
		{"libm.so.6", "too old", "libsdl2-2.0-0"},
		{library, "no display", "the desktop"},
	} {
		w, err := Open(Options{library: c.library})
		if err == nil {
			w.Close()
			t.Errorf("%s: a window opens", c.library)
			continue
		}
		if c.library == library && strings.Contains(err.Error(), "not installed") {
			continue // it is not
		}
		var h interface{ Hint() string }
		if !errors.Is(err, ErrWindow) || !errors.As(err, &h) || !strings.Contains(err.Error(), c.says) || !strings.Contains(h.Hint(), c.hint) {
			t.Errorf("%s: %v", c.library, err)
		}
	}
	t.Setenv("SDL_VIDEODRIVER", "none-such")
	if _, err := Open(Options{}); !errors.Is(err, ErrWindow) {
		t.Errorf("a driver that does not exist: %v", err)
	}
	t.Setenv("SDL_VIDEODRIVER", "")
	t.Setenv("DISPLAY", ":4711")
	if _, err := Open(Options{}); !errors.Is(err, ErrWindow) {
		t.Errorf("a display that does not exist: %v", err)
	}
}
