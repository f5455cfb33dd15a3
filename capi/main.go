// Command capi is the C library libvidfilter.so: see vidfilter.h. Built by make lib.
package main

/*
#define VIDFILTER_TYPES_ONLY
#include <stdlib.h>
#include "vidfilter.h"

struct vidfilter {
	uintptr_t handle; // of Go's side; 0: it could not be opened
	char *error;
};

static inline void vf_release(void (*release)(void *), void *opaque) { release(opaque); }
*/
import "C"

import (
	"errors"
	"fmt"
	"io"
	"runtime/cgo"
	"unsafe"

	"vidfilter/capi/stream"
	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

func main() {}

// handle is Go's side of a C handle.
type handle struct {
	*stream.Stream
	format pipeline.Format
	mixed  bool
	lent   *pipeline.Frame // by the latest pull, or nil
	done   []func()        // releases of the caller's frames
}

// bad is an error of the caller.
func bad(format string, args ...any) error {
	return hint.Says(fmt.Sprintf(format, args...), "", contract.Class(contract.ExitUsage))
}

// call runs the body of a function with a handle, and returns its code.
func call(v *C.vidfilter, do func(h *handle) error) C.int {
	if v == nil {
		return C.VIDFILTER_BAD
	}
	if v.handle == 0 {
		return fail(v, bad("the handle could not be opened"))
	}
	h := cgo.Handle(v.handle).Value().(*handle)
	if h.lent != nil {
		h.lent.Release()
		h.lent = nil
	}
	err := guarded(func() error { return do(h) })
	h.releaseDone()
	return fail(v, err)
}

// guarded runs do, and returns a panic as an error: it must not reach C.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = stream.Fault(p)
		}
	}()
	return do()
}

// releaseDone calls the release functions of frames that the filters have let go.
func (h *handle) releaseDone() {
	for len(h.done) > 0 {
		release := h.done[0]
		h.done = h.done[1:]
		release()
	}
}

// fail keeps the text of an error in v, and returns its code.
func fail(v *C.vidfilter, err error) C.int {
	switch {
	case err == nil:
		return C.VIDFILTER_OK
	case err == stream.ErrAgain:
		return C.VIDFILTER_AGAIN
	case err == io.EOF:
		return C.VIDFILTER_END
	}
	text := err.Error()
	if h := hint.Of(err); h != "" {
		text += " (" + h + ")"
	}
	C.free(unsafe.Pointer(v.error))
	v.error = C.CString(text)
	switch {
	case errors.Is(err, contract.Class(contract.ExitUsage)):
		return C.VIDFILTER_BAD
	case errors.Is(err, gpu.ErrDevice):
		return C.VIDFILTER_DEVICE
	}
	return C.VIDFILTER_FAILED
}

//export vidfilter_open
func vidfilter_open(to **C.vidfilter, format *C.vidfilter_format, options *C.char) C.int {
	if to == nil {
		return C.VIDFILTER_BAD
	}
	v := (*C.vidfilter)(C.calloc(1, C.sizeof_vidfilter))
	*to = v
	return fail(v, guarded(func() error { return open(v, format, options) }))
}

func open(v *C.vidfilter, format *C.vidfilter_format, options *C.char) error {
	if format == nil {
		return bad("the format is NULL")
	}
	f, err := formatOf(format)
	if err != nil {
		return err
	}
	text := ""
	if options != nil {
		text = C.GoString(options)
	}
	s, err := stream.Open(f, text)
	if err != nil {
		return err
	}
	v.handle = C.uintptr_t(cgo.NewHandle(&handle{Stream: s, format: f.Format, mixed: f.Fields == stream.Mixed}))
	return nil
}

func formatOf(c *C.vidfilter_format) (f stream.Format, err error) {
	f.Width, f.Height, f.FullRange = int(c.width), int(c.height), c.full_range != 0
	f.Fields, f.Lossless, f.Live = stream.Fields(c.fields), c.lossless != 0, c.live != 0
	f.Rate = pipeline.Ratio{Num: int(c.rate_num), Den: int(c.rate_den)}
	f.Unit = pipeline.Ratio{Num: int(c.unit_num), Den: int(c.unit_den)}
	name, matrix := "", ""
	if c.pixel_format != nil {
		name = C.GoString(c.pixel_format)
	}
	if c.matrix != nil {
		matrix = C.GoString(c.matrix)
	}
	return f, f.SetNames(name, matrix)
}

//export vidfilter_push
func vidfilter_push(v *C.vidfilter, frame *C.vidfilter_frame) C.int {
	return call(v, func(h *handle) error {
		if frame == nil {
			return bad("the frame is NULL")
		}
		if err := h.checkPlanes(frame); err != nil {
			return err
		}
		if fields := frame.fields; h.mixed && (fields < C.VIDFILTER_PROGRESSIVE || fields > C.VIDFILTER_BOTTOM_FIRST) {
			return bad("unknown kind of fields %d of a frame", fields)
		}
		if h.Waiting() {
			return stream.ErrAgain
		}
		f, err := h.frameOf(frame)
		if err != nil {
			return err
		}
		f.PTS, f.Duration, f.Context = int64(frame.time), int64(frame.duration), frame.context != 0
		f.Interlaced, f.TopFieldFirst = frame.fields != C.VIDFILTER_PROGRESSIVE, frame.fields == C.VIDFILTER_TOP_FIRST
		return h.Push(f)
	})
}

// checkPlanes refuses planes that are missing, or whose rows overlap.
func (h *handle) checkPlanes(c *C.vidfilter_frame) error {
	for i := range h.format.NumPlanes() {
		width, rows := h.format.PlaneSize(i)
		if stride := abs(int(c.stride[i])); c.data[i] == nil || rows > 1 && stride < width {
			return bad("plane %d of the frame: %d bytes a row, and a stride of %d", i, width, stride)
		}
	}
	return nil
}

func abs(n int) int { return max(n, -n) }

// frameOf returns a frame over the caller's samples, or over a copy if they cannot stay.
func (h *handle) frameOf(c *C.vidfilter_frame) (*pipeline.Frame, error) {
	release := func() {}
	if f, opaque := c.release, c.opaque; f != nil {
		release = func() { h.done = append(h.done, func() { C.vf_release(f, opaque) }) }
	}
	if c.release != nil && h.readable(c) {
		var planes [4]pipeline.Plane
		for i := range h.format.NumPlanes() {
			width, rows := h.format.PlaneSize(i)
			pitch := max(int(c.stride[i]), width)
			planes[i] = pipeline.Plane{Data: unsafe.Slice((*byte)(c.data[i]), pitch*(rows-1)+width), Pitch: pitch}
		}
		return pipeline.NewFrame(h.format, planes, nil, release), nil
	}
	release()
	f, err := h.NewFrame()
	if err == nil {
		for i, y := range h.format.Rows() {
			copy(f.Row(i, y), row(c, i, y, len(f.Row(i, y))))
		}
	}
	return f, err
}

// readable reports whether filters can read samples where they are.
func (h *handle) readable(c *C.vidfilter_frame) bool {
	size := h.format.Layout.Info().SampleBytes()
	for i := range h.format.NumPlanes() {
		if c.stride[i] < 0 || int(c.stride[i])%size != 0 || uintptr(unsafe.Pointer(c.data[i]))%uintptr(size) != 0 {
			return false
		}
	}
	return true
}

// row returns a row of the caller's.
func row(c *C.vidfilter_frame, i, y, width int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(c.data[i]), y*int(c.stride[i]))), width)
}

//export vidfilter_pull
func vidfilter_pull(v *C.vidfilter, frame *C.vidfilter_frame) C.int {
	return call(v, func(h *handle) error {
		if frame == nil {
			return bad("the frame is NULL")
		}
		lend := frame.data[0] == nil
		if !lend {
			if err := h.checkPlanes(frame); err != nil {
				return err
			}
		}
		f, err := h.Pull()
		if err != nil {
			return err
		}
		frame.time, frame.duration, frame.fields, frame.context = C.int64_t(f.PTS), C.int64_t(f.Duration), C.VIDFILTER_PROGRESSIVE, 0
		switch {
		case f.Interlaced && f.TopFieldFirst:
			frame.fields = C.VIDFILTER_TOP_FIRST
		case f.Interlaced:
			frame.fields = C.VIDFILTER_BOTTOM_FIRST
		}
		if lend {
			for i := range h.format.NumPlanes() {
				frame.data[i], frame.stride[i] = (*C.uint8_t)(unsafe.Pointer(&f.Planes[i].Data[0])), C.ptrdiff_t(f.Planes[i].Pitch)
			}
			h.lent = f
			return nil
		}
		for i, y := range h.format.Rows() {
			from := f.Row(i, y)
			copy(row(frame, i, y, len(from)), from)
		}
		f.Release()
		return nil
	})
}

//export vidfilter_flush
func vidfilter_flush(v *C.vidfilter) C.int {
	return call(v, func(h *handle) error { return h.Flush() })
}

//export vidfilter_reset
func vidfilter_reset(v *C.vidfilter) C.int {
	return call(v, func(h *handle) error { return h.Reset() })
}

//export vidfilter_window
func vidfilter_window(v *C.vidfilter, before, after, step *C.int) C.int {
	return call(v, func(h *handle) error {
		if before == nil || after == nil || step == nil {
			return bad("a place for a number is NULL")
		}
		w := h.Window()
		*before, *after, *step = C.int(w.Before), C.int(w.After), C.int(w.Step)
		return nil
	})
}

//export vidfilter_close
func vidfilter_close(v *C.vidfilter) {
	if v == nil {
		return
	}
	if v.handle != 0 {
		call(v, func(h *handle) error {
			h.Close()
			return nil
		})
		cgo.Handle(v.handle).Delete()
	}
	C.free(unsafe.Pointer(v.error))
	C.free(unsafe.Pointer(v))
}

// Texts that stay: allocated once, where tools that look for leaks find them.
var (
	noText  = C.CString("")
	version = C.CString(cli.Version())
)

//export vidfilter_error
func vidfilter_error(v *C.vidfilter) *C.char {
	if v == nil || v.error == nil {
		return noText
	}
	return v.error
}

//export vidfilter_version
func vidfilter_version() *C.char { return version }
