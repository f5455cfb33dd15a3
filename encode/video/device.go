package video

//#include "glue.h"
import "C"

import (
	"cmp"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// onDevice is the work of an encoder on a device. A nil onDevice means that the CPU encodes.
type onDevice struct {
	spec.Device
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
func (e *encoder) onDeviceOf(c *C.AVCodecContext, pf astiav.PixelFormat, width, height int) (*onDevice, error) {
	if e.about.OnDevice == "" {
		return nil, nil
	}
	d := &onDevice{Device: e.Device}
	if d.Device == nil {
		return nil, needsDevice(e.about.Name)
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

// failed describes an error of the encoder, wherever it works.
func (d *onDevice) failed(err error, op string, args ...any) error {
	op = fmt.Sprintf(op, args...)
	if d == nil {
		err = fmt.Errorf("%s: %w", op, err)
		return cmp.Or(av.OfShortage(err, err), err)
	}
	if no := av.Errno(err); no != 0 {
		err = syscall.Errno(no)
	}
	return d.Failed(err, op, d.said.reason())
}
