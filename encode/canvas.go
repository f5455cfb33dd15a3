package encode

//#include <libavutil/frame.h>
import "C"

import (
	"errors"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// canvas is a picture in FFmpeg's memory that is drawn on as a pipeline.Frame.
type canvas struct {
	frame *astiav.Frame
	view  *pipeline.Frame
}

func newCanvas(f pipeline.Format) (*canvas, error) {
	frame := astiav.AllocFrame()
	if frame == nil {
		return nil, errors.New("encode: out of memory")
	}
	frame.SetWidth(f.Width)
	frame.SetHeight(f.Height)
	frame.SetPixelFormat(av.PixelFormat(f.Layout))
	if err := frame.AllocBuffer(0); err != nil {
		frame.Free()
		return nil, err
	}
	c := &canvas{frame: frame}
	c.look(f)
	return c, nil
}

// look makes view show the memory that the frame has now.
func (c *canvas) look(f pipeline.Format) {
	av := (*C.AVFrame)(c.frame.UnsafePointer())
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		pitch := int(av.linesize[i])
		planes[i] = pipeline.Plane{Data: unsafe.Slice((*byte)(av.data[i]), pitch*rows), Pitch: pitch}
	}
	c.view = pipeline.NewFrame(f, planes, nil, nil)
}

// writable makes the memory the canvas's own, whatever an encoder still holds of it; the samples stay.
func (c *canvas) writable() error {
	if c.frame.IsWritable() {
		return nil
	}
	if err := c.frame.MakeWritable(); err != nil {
		return err
	}
	c.look(c.view.Format)
	return nil
}

// part returns a window of a yuv420p canvas, as wide and high as given, that begins at an even row.
func (c *canvas) part(top, width, height int) *pipeline.Frame {
	f := c.view.Format
	f.Width, f.Height = width, height
	planes := c.view.Planes
	for i := range 3 {
		planes[i].Data = planes[i].Data[top>>min(i, 1)*planes[i].Pitch:]
	}
	return pipeline.NewFrame(f, planes, nil, nil)
}

func (c *canvas) close() {
	if c != nil {
		c.frame.Free()
	}
}

// placer draws frames on a canvas. The zero value is ready.
type placer struct{ scaler av.Scaler }

// put fills dst with f, which it borrows, converted and scaled to dst's format where it has to be.
func (p *placer) put(dst, f *pipeline.Frame) error {
	if dst.Format == f.Format {
		dst.CopySamples(f)
		return nil
	}
	src, err := av.Wrap(f.Retain())
	if err != nil {
		return err
	}
	defer src.Free()
	return p.scaler.Convert(dst, src, f.Matrix, f.FullRange)
}
