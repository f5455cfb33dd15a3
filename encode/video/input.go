package video

//#include <libavutil/frame.h>
//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// input turns frames into the encoder's pictures.
type input struct {
	scaler    av.Scaler
	enc       *astiav.CodecContext // open; nil: there is none
	onDevice  *onDevice
	to        *conversion // nil for none
	alphaKept bool
	// alphaBeside means that the encoder gets alpha that comes beside the samples of frames.
	alphaBeside bool
	// colourless means that the encoder takes no gray: frames get chroma without colour.
	colourless bool
}

func (e *input) prepare(f *pipeline.Frame, to codedFormat) {
	alpha := hasAlpha(to.pixelFormat)
	e.alphaKept = alpha && (f.Layout == pipeline.RGBA || av.HasAlpha(f))
	e.alphaBeside = alpha && f.Layout != pipeline.RGBA
	e.colourless = f.Layout.Info().Gray() && !av.IsGray(to.pixelFormat)
	layout := f.Layout
	if e.colourless {
		layout = av.Colourless(layout)
	}
	if own := to.pixelFormat == av.PixelFormat(layout) || to.pixelFormat == av.WithAlpha(layout); !own || to.isYUV && to.format != f.Format {
		e.to = &conversion{scaler: &e.scaler, from: f.Format, to: to}
	}
}

// picture returns a frame, which it takes, as the encoder gets it.
func (e *input) picture(f *pipeline.Frame) (*astiav.Frame, error) {
	if e.onDevice != nil {
		return e.surface(f)
	}
	return e.converted(f)
}

// converted returns a frame, which it takes, in the encoder's format.
func (e *input) converted(f *pipeline.Frame) (*astiav.Frame, error) {
	f.Retain() // for its alpha
	defer f.Release()
	frame, err := av.Wrap(f) // takes f
	if err != nil {
		return nil, err
	}
	if e.colourless {
		if err := av.AddColourless(frame, f.Layout); err != nil {
			frame.Free()
			return nil, err
		}
	}
	if e.to != nil {
		converted, err := e.to.convert(frame)
		frame.Free()
		if err != nil {
			return nil, fmt.Errorf("convert to %s: %w", e.to.to.pixelFormat, err)
		}
		frame = converted
	}
	if width, height := e.enc.Width(), e.enc.Height(); width != f.Width || height != f.Height {
		padded, err := pad(frame, width, height)
		frame.Free()
		if err != nil {
			return nil, fmt.Errorf("pad to %dx%d: %w", width, height, err)
		}
		frame = padded
	}
	if e.alphaBeside {
		if err := av.SetAlpha(frame, f, e.enc.PixelFormat()); err != nil {
			frame.Free()
			return nil, fmt.Errorf("alpha: %w", err)
		}
	}
	return frame, nil
}

// surface returns a picture of the encoder's on the device with a frame, which it takes.
func (e *input) surface(f *pipeline.Frame) (*astiav.Frame, error) {
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
		e.onDevice.dispose(picture.Free)
		return nil, e.onDevice.failed(err, "take memory for a picture")
	}
	var to pipeline.Surface
	for i := range to.Address {
		to.Address[i], to.Pitch[i] = uint64(s.address[i]), int(s.pitch[i])
	}
	if err = e.onDevice.Give(from, to); err == nil {
		err = av.Describe(picture, f)
	}
	if err != nil {
		e.onDevice.dispose(picture.Free)
		return nil, err
	}
	return picture, nil
}

type conversion struct {
	scaler *av.Scaler
	from   pipeline.Format
	to     codedFormat
}

func (e *conversion) convert(src *astiav.Frame) (*astiav.Frame, error) {
	dst, err := newPicture(e.from.Width, e.from.Height, e.to.pixelFormat)
	if err != nil {
		return nil, err
	}
	err = e.scaler.ConvertTo(dst, src, e.from, e.to.format)
	d, s := (*C.AVFrame)(dst.UnsafePointer()), (*C.AVFrame)(src.UnsafePointer())
	if err == nil {
		err = av.Error(int(C.av_frame_copy_props(d, s)))
	}
	if err != nil {
		dst.Free()
		return nil, err
	}
	switch {
	case e.to.isYUV && e.to.format.FullRange:
		d.color_range = C.AVCOL_RANGE_JPEG
	case e.to.isYUV && e.from.FullRange:
		d.color_range = C.AVCOL_RANGE_MPEG
	}
	return dst, nil
}

// pad returns a larger copy of a frame whose right and lower edges repeat.
func pad(src *astiav.Frame, width, height int) (*astiav.Frame, error) {
	dst, err := newPicture(width, height, src.PixelFormat())
	if err != nil {
		return nil, err
	}
	if err := av.Error(int(C.vf_pad((*C.AVFrame)(dst.UnsafePointer()), (*C.AVFrame)(src.UnsafePointer())))); err != nil {
		dst.Free()
		return nil, err
	}
	return dst, nil
}

func newPicture(width, height int, pf astiav.PixelFormat) (*astiav.Frame, error) {
	f := astiav.AllocFrame()
	if f == nil {
		return nil, errors.New("out of memory")
	}
	f.SetWidth(width)
	f.SetHeight(height)
	f.SetPixelFormat(pf)
	if err := f.AllocBuffer(0); err != nil {
		f.Free()
		return nil, err
	}
	return f, nil
}

// close frees the encoder. Frames can be converted again once there is another.
func (e *input) close() {
	if enc := e.enc; enc != nil {
		e.onDevice.dispose(func() { freeEncoder(enc) })
		e.enc = nil
	}
	e.onDevice.close()
	e.onDevice = nil
}

// onDevice is the work of an encoder on a device. A nil onDevice means that the CPU encodes.
type onDevice struct {
	spec.HardwareEncoder
	layout pipeline.Layout // of the frames that it is given
	said   messages
	stop   func()
}

// onDeviceOf has an encoder that is about to be opened take frames from the options' device.
func (e *encoder) onDeviceOf(c *C.AVCodecContext, pf astiav.PixelFormat, width, height int) (*onDevice, error) {
	if e.about.OnDevice == "" {
		return nil, nil
	}
	d := &onDevice{HardwareEncoder: e.Device}
	if d.HardwareEncoder == nil {
		return nil, misused("choose another encoder", "the encoder %s works on a GPU, and there is none here", e.about.Name)
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

// messages are an encoder's lines in FFmpeg's log that explain its failure.
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

// dispose frees objects of FFmpeg, unless a device does not answer: that would wait for ever.
func (d *onDevice) dispose(f func()) { _ = d.call(func() error { f(); return nil }) }

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
