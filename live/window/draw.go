package window

// #include "sdl.h"
import "C"

import (
	"math"
	"unsafe"
)

// draw draws the window's content without presenting it.
func (w *Window) draw() error {
	r := w.renderer
	C.sdl_SetRenderDrawColor(r, 0, 0, 0, 255)
	C.sdl_RenderClear(r)
	if w.pair == nil {
		return nil
	}
	switch w.view.mode {
	case original:
		return w.drawWhole(0)
	case filtered:
		return w.drawWhole(1)
	case apart:
		return w.drawWhole(2)
	}
	return w.drawSplit()
}

func (w *Window) drawWhole(i int) error {
	if err := w.load(i); err != nil {
		return err
	}
	return w.copy(i, nil)
}

// drawSplit draws both sides of the line, and the line.
func (w *Window) drawSplit() error {
	left, right := 0, 1
	if w.view.swap {
		left, right = right, left
	}
	ww, wh := w.size()
	x := int(math.Round(w.view.line * float64(ww)))
	for _, side := range []struct {
		i    int
		part box
	}{{left, box{0, 0, x, wh}}, {right, box{x, 0, ww - x, wh}}} {
		if side.part.w <= 0 {
			continue
		}
		if err := w.load(side.i); err != nil {
			return err
		}
		if err := w.copy(side.i, &side.part); err != nil {
			return err
		}
	}
	C.sdl_SetRenderDrawColor(w.renderer, 255, 255, 255, 255)
	b := w.place()
	line := rect(box{x - 1, max(0, b.y), 2, min(wh, b.h)})
	C.sdl_RenderFillRect(w.renderer, &line)
	return nil
}

// load uploads the shown pair's picture unless it is loaded.
func (w *Window) load(i int) (err error) {
	p := &w.pictures[i]
	if p.of == w.pair {
		return nil
	}
	switch i {
	case 0:
		w.buffers[0], err = p.load(w.renderer, w.pair.Original, w.buffers[0])
	case 1:
		w.buffers[0], err = p.load(w.renderer, w.pair.Filtered, w.buffers[0])
	default:
		f := w.pair.Original
		w.buffers[0] = toRGBA(w.buffers[0], f)
		w.buffers[1] = toRGBA(w.buffers[1], w.pair.Filtered)
		difference(w.buffers[0], w.buffers[1])
		err = p.loadRGBA(w.renderer, f.Width, f.Height, w.buffers[0], 4*f.Width)
	}
	if err == nil {
		p.of = w.pair
	}
	return err
}

// copy draws the part of a picture that lies in a part of the window.
func (w *Window) copy(i int, part *box) error {
	p := &w.pictures[i]
	if part != nil {
		clip := rect(*part)
		C.sdl_RenderSetClipRect(w.renderer, &clip)
		defer C.sdl_RenderSetClipRect(w.renderer, nil)
	}
	C.sdl_SetYUVConversionMode(p.made.yuv)
	b := w.place()
	turn := w.display.Turn
	if turn%180 != 0 { // SDL turns a picture about its middle
		b = box{b.x + (b.w-b.h)/2, b.y + (b.h-b.w)/2, b.h, b.w}
	}
	to := rect(b)
	if C.sdl_RenderCopyEx(w.renderer, p.texture, nil, &to, C.double(turn), nil, 0) != 0 {
		return sdlError(hintDriver, lastError(), "nothing can be drawn in the window")
	}
	return nil
}

// place is where the picture lies.
func (w *Window) place() box {
	ww, wh := w.size()
	pw, ph := w.shape()
	return w.view.place(pw, ph, ww, wh)
}

// shape is the displayed size of the picture.
func (w *Window) shape() (width, height int) {
	return w.display.Size(w.pair.Original.Width, w.pair.Original.Height)
}

// size returns the window's size in pixels, at least 1 each way.
func (w *Window) size() (int, int) {
	var x, y C.int
	C.sdl_GetRendererOutputSize(w.renderer, &x, &y)
	return max(1, int(x)), max(1, int(y))
}

// density is the number of pixels per unit of the pointer's position.
func (w *Window) density() float64 {
	var x, y C.int
	C.sdl_GetWindowSize(w.window, &x, &y)
	ww, _ := w.size()
	if x <= 0 {
		return 1
	}
	return float64(ww) / float64(x)
}

// pixels returns the result of draw as RGBA without padding.
func (w *Window) pixels() (pixels []byte, width, height int) {
	width, height = w.size()
	pixels = make([]byte, 4*width*height)
	if C.sdl_RenderReadPixels(w.renderer, nil, C.VF_RGBA, pointer(pixels), C.int(4*width)) != 0 {
		return nil, 0, 0
	}
	return pixels, width, height
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }
