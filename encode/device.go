package encode

//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Device encodes in hardware, from pictures in its memory. It is for one output.
type Device interface {
	// Supports returns nil, or the reason why the device does not encode frames of the layout to
	// video of a codec, by FFmpeg's name.
	Supports(codec string, l pipeline.Layout, width, height int) error

	// Handles returns a CUcontext and a CUstream for FFmpeg.
	Handles() (context, stream unsafe.Pointer)

	// Call makes a call of FFmpeg's encoder. Its error is the call's, or says that the device does
	// not answer. Then the call may still go on, so that its arguments must not be freed.
	Call(f func() error) error

	// Give fills a surface of the encoder's with a frame's samples, wherever they are, and returns
	// when that is done.
	Give(f *pipeline.Frame, to pipeline.Surface) error

	// Host returns a frame with f's samples in the host's memory: f with one more owner, or a copy.
	Host(f *pipeline.Frame) (*pipeline.Frame, error)

	// Failed returns the error of an operation in which FFmpeg's encoder failed with its own error
	// or the system's. said is why, by its log; it may be empty.
	Failed(err error, op, said string) error
}

// onDevice is the work of an encoder on a device. A nil onDevice means that the CPU encodes.
type onDevice struct {
	Device
	layout pipeline.Layout // of the frames that it is given
	said   messages
	stop   func()
}

// needsDevice is the error of an encoder on a device without one.
func needsDevice(encoder string) error {
	return misused("choose another encoder", "the encoder %s works on a GPU, and there is none here", encoder)
}

// onDeviceOf has an encoder that is about to be opened take frames of a pixel format from the
// options' device.
func (e *coder) onDeviceOf(c *C.AVCodecContext, pf astiav.PixelFormat, width, height int) (*onDevice, error) {
	if e.opts.codec().OnDevice == "" {
		return nil, nil
	}
	d := &onDevice{Device: e.opts.Device}
	if d.Device == nil {
		return nil, needsDevice(e.opts.codec().Name)
	}
	d.layout, _, _ = av.LayoutOf(pf)
	if err := d.Supports(C.GoString(C.avcodec_get_name(c.codec_id)), d.layout, width, height); err != nil {
		return nil, err
	}
	context, stream := d.Handles()
	if err := av.Error(int(C.vf_encoder_on_device(c, context, stream, C.int(pf)))); err != nil {
		return nil, d.Failed(err, "prepare the encoder", "")
	}
	d.stop = av.WatchMessages(uintptr(c.opaque), d.said.hear)
	return d, nil
}

// messages are those of an encoder in FFmpeg's log, as far as they say why it failed.
type messages struct{ warning, failure atomic.Pointer[string] }

// hear takes a message. That the chip lacks a feature is an error, which a warning before names.
func (m *messages) hear(level astiav.LogLevel, line string) {
	if level > astiav.LogLevelError {
		m.warning.Store(&line)
		return
	}
	why := &line
	if missing := m.warning.Load(); missing != nil && strings.Contains(line, "doesn't support required NVENC features") {
		why = missing
	}
	m.failure.CompareAndSwap(nil, why)
}

// reason returns the first error; "" if there was none.
func (m *messages) reason() string {
	if line := m.failure.Load(); line != nil {
		return *line
	}
	return ""
}

func (d *onDevice) close() {
	if d != nil && d.stop != nil {
		d.stop()
	}
}

// call makes a call of FFmpeg's encoder, wherever it works.
func (d *onDevice) call(f func() error) error {
	if d == nil {
		return f()
	}
	return d.Call(f)
}

// free frees objects of FFmpeg's, unless a device does not answer: that would wait for ever.
func (d *onDevice) free(f func()) { _ = d.call(func() error { f(); return nil }) }

// encodeFailed describes an error of the encoder, wherever it works.
func (e *coder) encodeFailed(err error, op string, args ...any) error {
	op = fmt.Sprintf(op, args...)
	if e.onDevice == nil {
		err = fmt.Errorf("%s: %w", op, err)
		return cmp.Or(av.OfShortage(err, err), err)
	}
	if no := av.Errno(err); no != 0 {
		err = syscall.Errno(no)
	}
	return e.onDevice.Failed(err, op, e.onDevice.said.reason())
}

// surface returns a picture of the encoder's on the device with a frame, which it takes.
func (e *coder) surface(f *pipeline.Frame) (*astiav.Frame, error) {
	defer f.Release()
	from := f
	if e.to != nil || e.colourless {
		host, err := e.onDevice.Host(f)
		if err != nil {
			return nil, err
		}
		converted, err := e.converted(host)
		if err != nil {
			return nil, err
		}
		defer converted.Free()
		from = av.View(converted, e.onDevice.layout)
	}
	picture := astiav.AllocFrame()
	if picture == nil {
		return nil, errors.New("out of memory")
	}
	var s C.struct_vf_surface
	enc := (*C.AVCodecContext)(e.enc.UnsafePointer())
	err := e.onDevice.call(func() error {
		return av.Error(int(C.vf_encoder_surface(enc, (*C.AVFrame)(picture.UnsafePointer()), &s)))
	})
	if err != nil {
		e.onDevice.free(picture.Free)
		return nil, e.encodeFailed(err, "take memory for a picture")
	}
	var to pipeline.Surface
	for i := range to.Address {
		to.Address[i], to.Pitch[i] = uint64(s.address[i]), int(s.pitch[i])
	}
	if err = e.onDevice.Give(from, to); err == nil {
		err = av.Describe(picture, f)
	}
	if err != nil {
		e.onDevice.free(picture.Free)
		return nil, err
	}
	return picture, nil
}
