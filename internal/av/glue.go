package av

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

//export vfRelease
func vfRelease(handle C.uintptr_t) {
	h := cgo.Handle(handle)
	f := h.Value().(*pipeline.Frame)
	h.Delete()
	f.Release()
}

// Wrap returns an FFmpeg frame over f's memory, without a copy. It takes f, also when it fails,
// and releases it when FFmpeg drops its last reference. The frame carries f's properties, times
// and field order.
func Wrap(f *pipeline.Frame) (*astiav.Frame, error) {
	frame, err := wrap(f)
	if err != nil {
		return nil, err
	}
	if err := Describe(frame, f); err != nil {
		frame.Free()
		return nil, err
	}
	return frame, nil
}

// Describe gives an FFmpeg frame the properties, times and field order of f, for an encoder.
func Describe(frame *astiav.Frame, f *pipeline.Frame) error {
	c := (*C.AVFrame)(frame.UnsafePointer())
	if p := decoded(f).frame; p != nil {
		if err := Error(int(C.av_frame_copy_props(c, p))); err != nil {
			return err
		}
	}
	c.pts, c.duration = C.int64_t(f.PTS), C.int64_t(f.Duration)
	// The encoder chooses picture types by itself.
	c.pict_type = C.AV_PICTURE_TYPE_NONE
	c.flags &^= C.AV_FRAME_FLAG_KEY | C.AV_FRAME_FLAG_CORRUPT
	c.crop_left, c.crop_right, c.crop_top, c.crop_bottom = 0, 0, 0, 0
	C.vf_set_fields(c, flag(f.Interlaced), flag(f.TopFieldFirst))
	return nil
}

// View returns a frame over the memory of an FFmpeg frame of the layout's pixel format, which must
// outlive it.
func View(frame *astiav.Frame, l pipeline.Layout) *pipeline.Frame {
	f := pipeline.Format{Layout: l, Width: frame.Width(), Height: frame.Height()}
	return pipeline.NewFrame(f, planesOf(frame, f), nil, nil)
}

// Colourless returns the layout that gray frames of a layout become with planes of chroma.
func Colourless(gray pipeline.Layout) pipeline.Layout {
	return pipeline.YUV420P.At(gray.Info().Depth)
}

// AddColourless gives a gray picture the planes of chroma of its Colourless layout.
func AddColourless(picture *astiav.Frame, gray pipeline.Layout) error {
	return Error(int(C.vf_colourless((*C.AVFrame)(picture.UnsafePointer()), C.int(PixelFormat(Colourless(gray))))))
}

func wrap(f *pipeline.Frame) (*astiav.Frame, error) {
	var data [4]*C.uint8_t
	var pitch, rows [4]C.int
	for i := range f.NumPlanes() {
		_, n := f.PlaneSize(i)
		data[i] = (*C.uint8_t)(unsafe.SliceData(f.Planes[i].Data))
		pitch[i], rows[i] = C.int(f.Planes[i].Pitch), C.int(n)
	}
	// data holds pointers to C memory, which needs no pinning; the array itself is only read
	// during the call.
	c := C.vf_wrap(C.int(PixelFormat(f.Layout)), C.int(f.Width), C.int(f.Height), &data[0], &pitch[0], &rows[0],
		C.uintptr_t(cgo.NewHandle(f)))
	if c == nil {
		return nil, fmt.Errorf("wrap a frame: out of memory")
	}
	frame := astiav.AllocFrame()
	if frame == nil {
		C.av_frame_free(&c)
		return nil, fmt.Errorf("wrap a frame: out of memory")
	}
	C.av_frame_move_ref((*C.AVFrame)(frame.UnsafePointer()), c)
	C.av_frame_free(&c)
	return frame, nil
}

// Scaler converts frames between pixel formats and sizes by swscale. The zero value is ready;
// Close frees its memory. Not for concurrent use.
type Scaler struct{ c C.vf_scaler }

// Convert fills dst, converted to its Format, from src, whose samples are of the given matrix and
// range.
func (s *Scaler) Convert(dst *pipeline.Frame, src *astiav.Frame, matrix pipeline.Matrix, full bool) error {
	var data [4]*C.uint8_t
	var pitch [4]C.int
	var pin runtime.Pinner
	defer pin.Unpin()
	for i, p := range dst.Planes[:dst.NumPlanes()] {
		data[i] = (*C.uint8_t)(unsafe.SliceData(p.Data))
		pin.Pin(data[i])
		pitch[i] = C.int(p.Pitch)
	}
	r := C.vf_scale(&s.c, (*C.AVFrame)(src.UnsafePointer()), sws(matrix), flag(full), &data[0], &pitch[0],
		C.int(PixelFormat(dst.Layout)), C.int(dst.Width), C.int(dst.Height), sws(dst.Matrix), flag(dst.FullRange))
	return Error(int(r))
}

// ConvertTo fills dst, a frame with buffers of its own and its pixel format and size set.
func (s *Scaler) ConvertTo(dst, src *astiav.Frame, from, to pipeline.Format) error {
	d := (*C.AVFrame)(dst.UnsafePointer())
	if requantises(dst, src, from, to) {
		return nil
	}
	shallow, err := shallowRGB(dst, src, from)
	if err != nil {
		return err
	}
	if shallow != nil {
		defer shallow.Free()
		src = shallow
	}
	r := C.vf_scale(&s.c, (*C.AVFrame)(src.UnsafePointer()), sws(from.Matrix), flag(from.FullRange), &d.data[0], &d.linesize[0],
		d.format, d.width, d.height, sws(to.Matrix), flag(to.FullRange))
	return Error(int(r))
}

// Close frees the conversion tables. It may be called twice.
func (s *Scaler) Close() {
	C.sws_freeContext(s.c.sws)
	s.c = C.vf_scaler{}
}

func sws(m pipeline.Matrix) C.int {
	switch m {
	case pipeline.BT709:
		return C.SWS_CS_ITU709
	case pipeline.BT2020:
		return C.SWS_CS_BT2020
	}
	return C.SWS_CS_ITU601
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// LogFunc receives a line of FFmpeg's log, on any thread.
type LogFunc func(level astiav.LogLevel, line string)

var (
	logger   atomic.Pointer[LogFunc]
	watchers sync.Map // owner (uintptr) -> LogFunc
)

// SetLog sends FFmpeg's messages of level and above (lower numbers) to f. FFmpeg has one log for
// the whole process. go-astiav's callback is not used, since it formats into a fixed buffer
// without a bound.
func SetLog(level astiav.LogLevel, f LogFunc) {
	logger.Store(&f)
	C.vf_log_start(C.int(level))
}

// WatchErrors calls f, on any thread, for every error that FFmpeg logs on behalf of owner, until
// stop is called. Owner is the address of an AVFormatContext, or the field opaque of an
// AVCodecContext.
func WatchErrors(owner uintptr, f func()) (stop func()) {
	return WatchMessages(owner, func(level astiav.LogLevel, _ string) {
		if level <= astiav.LogLevelError {
			f()
		}
	})
}

// WatchMessages is WatchErrors with the messages, without the names of FFmpeg's parts, and with
// warnings. Of a decoder of H.264, "Frame num gap 7 5" is among them, at FFmpeg's own level: it has
// lost pictures.
func WatchMessages(owner uintptr, f LogFunc) (stop func()) {
	watchers.Store(owner, f)
	C.vf_log_watch()
	return func() { watchers.Delete(owner) }
}

// Overhear calls do and returns FFmpeg's messages meanwhile, without the names of its parts. No
// other call of FFmpeg may run beside it.
func Overhear(level astiav.LogLevel, do func()) []string {
	var mu sync.Mutex
	var lines []string
	var listen LogFunc = func(_ astiav.LogLevel, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, words(line))
	}
	before := logger.Swap(&listen)
	threshold := C.vf_log_start(C.int(level))
	do()
	logger.Store(before)
	C.vf_log_start(threshold)
	mu.Lock()
	defer mu.Unlock()
	return lines
}

// RefusedSize calls do, and returns the last size of a picture that FFmpeg refused meanwhile on the
// same thread, or 0. FFmpeg's log must be set or watched.
func RefusedSize(do func()) (w, h int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.vf_refused()
	do()
	size := C.vf_refused()
	return int64(size.width), int64(size.height)
}

// Complaint calls do, and returns the first error that FFmpeg logs meanwhile on the same thread:
// the name of the part that it is about, "" if unknown, and the message. Errors do not reach the
// log then.
func Complaint(do func()) (part, message string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	line := (*C.char)(C.calloc(1, C.VF_COMPLAINT))
	defer C.free(unsafe.Pointer(line))
	C.vf_listen(line)
	do()
	C.vf_listen(nil)
	text := C.GoString(line)
	if name, _, ok := strings.Cut(text, " @ "); ok && strings.HasPrefix(name, "[") {
		part = name[1:]
	}
	return part, words(text)
}

// words returns a line of the log without the names of FFmpeg's parts.
func words(line string) string {
	for strings.HasPrefix(line, "[") { // [hevc_nvenc @ 0x55d0c0ffee00] [Eval @ 0x7ffec0ffee00]
		name, words, ok := strings.Cut(line, "] ")
		if !ok || !strings.Contains(name, " @ ") {
			break
		}
		line = words
	}
	return strings.TrimRight(line, ". \n")
}

//export vfLog
func vfLog(level C.int, line *C.char) {
	if f := logger.Load(); f != nil && *f != nil {
		(*f)(astiav.LogLevel(level), strings.TrimRight(C.GoString(line), "\n"))
	}
}

//export vfLogOwned
func vfLogOwned(owner C.uintptr_t, level C.int, line *C.char) {
	if f, ok := watchers.Load(uintptr(owner)); ok {
		f.(LogFunc)(astiav.LogLevel(level), words(C.GoString(line)))
	}
}
