package av

//#include <libavutil/frame.h>
import "C"

import (
	"errors"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// Canvas is a picture in FFmpeg's memory that can be drawn on as a pipeline.Frame.
type Canvas struct {
	Frame *astiav.Frame
	View  *pipeline.Frame // shows the memory of Frame
}

// NewCanvas allocates a canvas, which Close frees.
func NewCanvas(f pipeline.Format) (*Canvas, error) {
	frame, err := newPicture(f)
	if err != nil {
		return nil, err
	}
	c := &Canvas{Frame: frame}
	c.look(f)
	return c, nil
}

// newPicture returns a frame with samples of its own, which the caller frees.
func newPicture(f pipeline.Format) (*astiav.Frame, error) {
	frame := astiav.AllocFrame()
	if frame == nil {
		return nil, errors.New("out of memory")
	}
	frame.SetWidth(f.Width)
	frame.SetHeight(f.Height)
	frame.SetPixelFormat(PixelFormat(f.Layout))
	if err := frame.AllocBuffer(0); err != nil {
		frame.Free()
		return nil, err
	}
	return frame, nil
}

// look points View at the memory that the frame has now.
func (c *Canvas) look(f pipeline.Format) {
	c.View = pipeline.NewFrame(f, planesOf(c.Frame, f), nil, nil)
}

// planesOf returns the planes of an FFmpeg frame of a format.
func planesOf(f *astiav.Frame, format pipeline.Format) (planes [4]pipeline.Plane) {
	frame := (*C.AVFrame)(f.UnsafePointer())
	for i := range format.NumPlanes() {
		_, rows := format.PlaneSize(i)
		pitch := int(frame.linesize[i])
		planes[i] = pipeline.Plane{Data: unsafe.Slice((*byte)(frame.data[i]), pitch*rows), Pitch: pitch}
	}
	return planes
}

// MakeWritable gives the canvas memory of its own while an encoder still reads the old. The samples
// are copied.
func (c *Canvas) MakeWritable() error {
	if c.Frame.IsWritable() {
		return nil
	}
	if err := c.Frame.MakeWritable(); err != nil {
		return err
	}
	c.look(c.View.Format)
	return nil
}

// Part returns a window of a yuv420p canvas that begins at an even row.
func (c *Canvas) Part(top, width, height int) *pipeline.Frame {
	f := c.View.Format
	f.Width, f.Height = width, height
	planes := c.View.Planes
	for i := range f.NumPlanes() {
		planes[i].Data = planes[i].Data[top>>min(i, 1)*planes[i].Pitch:]
	}
	return pipeline.NewFrame(f, planes, nil, nil)
}

// Close frees the canvas, which may be nil.
func (c *Canvas) Close() {
	if c != nil {
		c.Frame.Free()
	}
}

// Placer draws frames on canvases, converted, scaled and turned where needed. The zero value is
// ready.
type Placer struct {
	// Turn is by how many degrees pictures are turned clockwise, by quarter turns. Canvases then
	// have 8 bits.
	Turn int

	scaler Scaler
	before *Canvas // the picture before it is turned
	after  *Canvas // and after it, if the canvas has another layout
	last   Scaler
}

// Put fills dst with f, which it borrows.
func (p *Placer) Put(dst, f *pipeline.Frame) error {
	if p.Turn != 0 {
		return p.putTurned(dst, f)
	}
	if dst.Format == f.Format {
		dst.CopySamples(f)
		return nil
	}
	src, err := Wrap(f.Retain())
	if err != nil {
		return err
	}
	defer src.Free()
	return p.scaler.Convert(dst, src, f.Matrix, f.FullRange)
}

// putTurned turns the picture in 4:2:0.
func (p *Placer) putTurned(dst, f *pipeline.Frame) error {
	to := dst.Format
	to.Layout = pipeline.YUV420P
	from := to
	from.Width, from.Height = pipeline.Display{Turn: p.Turn}.Size(to.Width, to.Height)
	if err := renew(&p.before, from); err != nil {
		return err
	}
	straight := Placer{scaler: p.scaler}
	err := straight.Put(p.before.View, f)
	if p.scaler = straight.scaler; err != nil {
		return err
	}
	if dst.Layout == pipeline.YUV420P {
		pipeline.DrawTurned(dst, p.before.View, p.Turn)
		return nil
	}
	if err := renew(&p.after, to); err != nil {
		return err
	}
	pipeline.DrawTurned(p.after.View, p.before.View, p.Turn)
	return p.last.Convert(dst, p.after.Frame, to.Matrix, to.FullRange)
}

// renew makes a canvas one of a format.
func renew(c **Canvas, f pipeline.Format) (err error) {
	if *c != nil && (*c).View.Format == f {
		return nil
	}
	(*c).Close()
	*c, err = NewCanvas(f)
	return err
}

// Close frees the conversion tables.
func (p *Placer) Close() {
	p.scaler.Close()
	p.last.Close()
	p.before.Close()
	p.after.Close()
}
