package video

//#include <libavutil/frame.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"

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

// set chooses how frames like f are converted for the encoder.
func (e *input) set(f *pipeline.Frame, to codedFormat) {
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
		e.onDevice.free(picture.Free)
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
		e.onDevice.free(picture.Free)
		return nil, err
	}
	return picture, nil
}

// conversion converts frames for the encoder.
type conversion struct {
	scaler *av.Scaler
	from   pipeline.Format
	to     codedFormat
}

func (e *conversion) convert(src *astiav.Frame) (*astiav.Frame, error) {
	dst := astiav.AllocFrame()
	if dst == nil {
		return nil, errors.New("out of memory")
	}
	dst.SetWidth(e.from.Width)
	dst.SetHeight(e.from.Height)
	dst.SetPixelFormat(e.to.pixelFormat)
	err := dst.AllocBuffer(0)
	if err == nil {
		err = e.scaler.ConvertTo(dst, src, e.from, e.to.format)
	}
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

// pad returns a frame of a larger size whose right and lower edges repeat the last samples of
// another, which it borrows.
func pad(src *astiav.Frame, width, height int) (*astiav.Frame, error) {
	dst := astiav.AllocFrame()
	if dst == nil {
		return nil, errors.New("out of memory")
	}
	dst.SetWidth(width)
	dst.SetHeight(height)
	dst.SetPixelFormat(src.PixelFormat())
	err := dst.AllocBuffer(0)
	if err == nil {
		err = av.Error(int(C.vf_pad((*C.AVFrame)(dst.UnsafePointer()), (*C.AVFrame)(src.UnsafePointer()))))
	}
	if err != nil {
		dst.Free()
		return nil, err
	}
	return dst, nil
}

// close frees the encoder. Frames can be converted again once there is another.
func (e *input) close() {
	if enc := e.enc; enc != nil {
		e.onDevice.free(func() { freeEncoder(enc) })
		e.enc = nil
	}
	e.onDevice.close()
	e.onDevice = nil
}
