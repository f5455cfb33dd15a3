// Package window shows a session in a desktop window, without a browser, through SDL 2, which is
// loaded on first use.
package window

// #include <stdlib.h>
// #include "sdl.h"
import "C"

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"vidfilter/live"
	"vidfilter/pipeline"
)

// Options of Open.
type Options struct {
	Name   string       // of the input, for the title
	Say    func(string) // prints an answer to a key on the terminal; may be nil
	Opened func()       // called once the window is visible; may be nil

	// Of tests, zero elsewhere.
	library string // SDL's
	idle    int    // milliseconds
}

// Window is a window. Its methods except Close are for one goroutine.
type Window struct {
	o      Options
	thread thread
	once   sync.Once

	// The fields below belong to the thread.
	window   *C.vf_window
	renderer *C.vf_renderer
	driver   string
	shown    bool // it is on the screen
	sized    bool // as a picture wants it
	full     bool // of the screen's size
	view     view
	pointer  [2]int // where the pointer is, in pixels
	dirty    bool   // the screen must be drawn again
	over     bool   // the person has ended it

	pair     *live.Pair // the newest; nil before the first
	display  pipeline.Display
	fresh    bool       // it has not been shown yet
	pictures [3]picture // original, filtered, difference
	buffers  [2][]byte

	frames, latency live.Window // shown, in the last second; milliseconds from arrival to shown
	titled          string
	titledAt        time.Time

	session *live.Session
	inbox   atomic.Pointer[live.Pair] // from the watcher, not yet taken
}

// Open opens a window, which appears with the first picture. Errors are of type Error. The caller
// closes it.
func Open(o Options) (*Window, error) {
	if o.library == "" {
		o.library = library
	}
	if o.idle == 0 {
		o.idle = idle
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Opened == nil {
		o.Opened = func() {}
	}
	w := &Window{o: o, thread: newThread(), view: newView()}
	var err error
	w.thread.do(func() { err = w.open() })
	if err != nil {
		close(w.thread)
		return nil, err
	}
	return w, nil
}

func (w *Window) open() (err error) {
	if err := start(w.o.library); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.shut()
		}
	}()
	title := C.CString(w.o.Name)
	defer C.free(unsafe.Pointer(title))
	const flags = C.VF_WINDOW_HIDDEN | C.VF_WINDOW_RESIZABLE | C.VF_WINDOW_HIGH_DPI
	w.window = C.sdl_CreateWindow(title, C.VF_WINDOW_CENTERED, C.VF_WINDOW_CENTERED, 640, 360, flags)
	if w.window == nil {
		return sdlError(hintDisplay, lastError(), "no window")
	}
	// No vsync: it would hold each picture until the next refresh, and drivers queue up to three
	// more behind it. Without a compositor one picture may be torn; the next is whole.
	w.renderer = C.sdl_CreateRenderer(w.window, -1, 0)
	if w.renderer == nil {
		return sdlError(hintDriver, lastError(), "nothing can be drawn in a window")
	}
	var info C.vf_renderer_info
	if C.sdl_GetRendererInfo(w.renderer, &info) == 0 {
		w.driver = videoDriver() + ", " + C.GoString(info.name)
	}
	return nil
}

// Driver names the video driver and renderer, as "x11, opengl".
func (w *Window) Driver() string { return w.driver }

// Close closes the window. It may be called twice, but not while Run runs.
func (w *Window) Close() {
	w.once.Do(func() {
		w.thread.do(w.shut)
		close(w.thread)
	})
}

func (w *Window) shut() {
	if w.pair != nil {
		w.pair.Release()
		w.pair = nil
	}
	for i := range w.pictures {
		w.pictures[i].free()
	}
	if w.renderer != nil {
		C.sdl_DestroyRenderer(w.renderer)
	}
	if w.window != nil {
		C.sdl_DestroyWindow(w.window)
	}
	C.sdl_Quit()
}

// Run shows a session's newest picture until the user closes the window, which is nil, or until
// ctx ends, which is its cause. Other errors are of type Error. It is called once, before or after
// the session starts.
func (w *Window) Run(ctx context.Context, s *live.Session) error {
	ctx, cancel := context.WithCancel(ctx)
	w.session = s
	var wg sync.WaitGroup
	wg.Go(func() { w.collect(ctx) })
	wg.Go(func() { <-ctx.Done(); wake() })
	var err error
	w.thread.do(func() { err = w.loop(ctx) })
	cancel()
	wg.Wait()
	if p := w.inbox.Swap(nil); p != nil {
		p.Release()
	}
	w.thread.do(func() { w.take(nil) }) // release the pictures before the session's memory
	return err
}

func wake() { push(event{kind: C.VF_WAKE}) }

// collect keeps the newest pair in the inbox, and wakes the thread for it.
func (w *Window) collect(ctx context.Context) {
	watch := w.session.Watch(1)
	defer watch.Close()
	for {
		p, err := watch.Next(ctx)
		if err != nil {
			return
		}
		if old := w.inbox.Swap(p); old != nil {
			old.Release()
		} else {
			wake()
		}
	}
}

// idle is the thread's sleep when nothing happens, in milliseconds; short enough to keep the title
// current.
const idle = 500

func (w *Window) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		for e := wait(w.o.idle); e != nil; e = wait(0) {
			w.handle(e)
		}
		if w.over {
			return nil
		}
		if p := w.inbox.Swap(nil); p != nil {
			w.take(p)
			st, _ := w.session.State()
			w.display = st.Display
		}
		w.appear()
		if w.dirty && w.shown {
			if err := w.show(); err != nil {
				return err
			}
		}
		w.retitle(time.Now())
	}
	return context.Cause(ctx)
}

// take replaces the pair on show. It takes p, which may be nil.
func (w *Window) take(p *live.Pair) {
	if w.pair != nil {
		w.pair.Release()
	}
	w.pair, w.fresh, w.dirty = p, true, true
	for i := range w.pictures {
		w.pictures[i].of = nil
	}
}

// appear shows the window when there is a picture, or when there will be none for a while.
func (w *Window) appear() {
	if w.pair != nil && !w.sized {
		w.sized = true
		w.resize(w.shape())
	}
	if w.shown {
		return
	}
	st, _ := w.session.State()
	if w.pair != nil || st.Status != live.Starting && st.Status != live.Live {
		C.sdl_ShowWindow(w.window)
		w.shown, w.dirty = true, true
		w.o.Opened()
	}
}

// resize makes the window as large as a picture, or as the screen allows with room for a frame
// around it.
func (w *Window) resize(width, height int) {
	if w.full {
		return
	}
	var room C.vf_rect
	if C.sdl_GetDisplayUsableBounds(0, &room) != 0 {
		room = C.vf_rect{}
	}
	width, height = fitInto(width, height, int(room.w)*97/100, int(room.h)*93/100)
	C.sdl_SetWindowSize(w.window, C.int(width), C.int(height))
	C.sdl_SetWindowPosition(w.window, C.VF_WINDOW_CENTERED, C.VF_WINDOW_CENTERED)
}

// show draws, and measures.
func (w *Window) show() error {
	if err := w.draw(); err != nil {
		return err
	}
	C.sdl_RenderPresent(w.renderer)
	w.dirty = false
	if w.pair == nil || !w.fresh {
		return nil
	}
	w.fresh = false
	now := time.Now()
	w.frames.Add(now, 0)
	if !w.pair.Foreign && !w.pair.Repeated {
		w.latency.Add(now, float64(now.Sub(w.pair.Taken))/float64(time.Millisecond))
	}
	return nil
}

// retitle updates the title, after changes or once a second.
func (w *Window) retitle(now time.Time) {
	st, _ := w.session.State()
	if head := heading(w.o.Name, st, w.view); head != w.titled || now.Sub(w.titledAt) >= time.Second {
		w.titled, w.titledAt = head, now
		text := head
		if st.Status == live.Live && !st.Frozen {
			text += fmt.Sprintf(" - %.1f fps", w.frames.Rate(now))
			if ms := w.latency.Median(now); ms > 0 {
				text += fmt.Sprintf(" - %.0f ms from arrival to screen", ms)
			}
		}
		title := C.CString(text)
		defer C.free(unsafe.Pointer(title))
		C.sdl_SetWindowTitle(w.window, title)
	}
}
