package window

// #include "sdl.h"
import "C"

import (
	"math"
	"slices"
	"strings"

	"vidfilter/kernels"
	"vidfilter/live"
)

// handle acts on an event.
func (w *Window) handle(e *event) {
	switch e.kind {
	case C.VF_QUIT:
		w.over = true
	case C.VF_WINDOW:
		w.dirty = w.dirty || e.window == C.VF_WINDOW_EXPOSED || e.window == C.VF_WINDOW_RESIZED
		w.over = w.over || e.window == C.VF_WINDOW_CLOSE
	case C.VF_KEY:
		w.key(e)
	case C.VF_MOTION, C.VF_PRESS:
		w.point(e)
	case C.VF_WHEEL:
		w.wheel(e.dy)
	}
}

// point moves the line with the pointer; dragging moves a zoomed picture.
func (w *Window) point(e *event) {
	d := w.density()
	scaled := func(x int) int { return int(math.Round(float64(x) * d)) }
	w.pointer = [2]int{scaled(e.x), scaled(e.y)}
	ww, wh := w.size()
	switch {
	case w.view.zoom > 1 && e.buttons&1 != 0 && w.pair != nil:
		w.view.pan(scaled(e.dx), scaled(e.dy), w.place(), ww, wh)
		w.dirty = true
	case w.view.mode == split:
		w.view.line = min(1, max(0, float64(w.pointer[0])/float64(ww)))
		w.dirty = true
	}
}

func (w *Window) wheel(notches int) {
	if w.pair == nil || notches == 0 {
		return
	}
	ww, wh := w.size()
	pw, ph := w.shape()
	w.view.zoomAt(math.Pow(1.25, float64(notches)), w.pointer[0], w.pointer[1], w.place(), pw, ph, ww, wh)
	w.dirty = true
}

// SDL's key codes: a character, or a place on the keyboard.
const (
	place    = 1 << 30
	enter    = 13
	escape   = 27
	f11      = place | 68
	right    = place | 79
	left     = place | 80
	down     = place | 81
	up       = place | 82
	padMinus = place | 86
	padPlus  = place | 87
	padEnter = place | 88

	withOthers = 0x0fc0 &^ 0x0200 // Ctrl, left Alt and the logo key; right Alt types characters
)

// keyHelp is the answer to h.
var keyHelp = "keys in the window: space freeze, s split, o original, f filtered, d difference, x swap sides, " +
	"up/down or +/- " + moved(kernels.UpDown) + ", right/left or ]/[ " + moved(kernels.LeftRight) +
	", wheel zoom, drag move, 0 fit, a play again, F11 or Enter full screen, q or Escape end"

// moved names the options of a key pair.
func moved(keys kernels.Keys) string {
	var names []string
	for _, o := range kernels.Options() {
		if slices.ContainsFunc(o.Filters(), func(f kernels.Filter) bool { return o.Domains[f].Keys == keys }) {
			names = append(names, o.Name)
		}
	}
	return strings.Join(names, " or ")
}

func (w *Window) key(e *event) {
	if e.mods&withOthers != 0 {
		return
	}
	switch e.key { // those that may be held
	case up, '+', '=', padPlus:
		w.step(kernels.UpDown, +1)
	case down, '-', padMinus:
		w.step(kernels.UpDown, -1)
	case right, ']':
		w.step(kernels.LeftRight, +1)
	case left, '[':
		w.step(kernels.LeftRight, -1)
	default:
		if !e.repeat {
			w.press(e.key)
		}
	}
}

func (w *Window) press(key int) {
	switch key {
	case ' ':
		st, _ := w.session.State()
		w.session.Freeze(!st.Frozen)
	case 's':
		w.view.mode = split
	case 'o':
		w.view.mode = original
	case 'f':
		w.view.mode = filtered
	case 'd':
		w.view.mode = apart
	case 'x':
		w.view.swap = !w.view.swap
	case '0':
		w.view.fit()
	case 'a':
		if st, _ := w.session.State(); st.Status == live.Ended {
			w.session.Restart()
		}
	case 'h':
		w.o.Say(keyHelp)
	case f11, enter, padEnter:
		w.fullScreen(!w.full)
	case escape:
		if w.full {
			w.fullScreen(false)
		} else {
			w.over = true
		}
	case 'q':
		w.over = true
	}
	w.dirty = true
}

func (w *Window) step(keys kernels.Keys, direction float64) {
	if err := w.session.Set(func(f *live.Filter) error { return f.Step(keys, direction) }); err != nil {
		w.o.Say(err.Error())
	}
}

func (w *Window) fullScreen(on bool) {
	flags := C.uint32_t(0)
	if on {
		flags = C.VF_WINDOW_FULL_SCREEN
	}
	if C.sdl_SetWindowFullscreen(w.window, flags) == 0 {
		w.full = on
	}
}
