// Package output gives the filtered picture of a session to other programs: through a pipe, and as
// the picture of a virtual camera.
package output

import (
	"context"
	"errors"
	"io"
	"time"

	"vidfilter/internal/av"
	"vidfilter/live"
	"vidfilter/pipeline"
)

// newest calls put with each picture of a session and the session's state, unless put is still busy
// with one before, and again with the last one after a pause. It returns when ctx or the session
// ends or put fails.
func newest(ctx context.Context, s *live.Session, idle time.Duration, put func(*pipeline.Frame, live.State) error) error {
	watch := s.Watch(1)
	defer watch.Close()
	var last *live.Pair
	defer func() {
		if last != nil {
			last.Release()
		}
	}()
	for {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if last != nil {
			wait, cancel = context.WithTimeout(ctx, idle)
		}
		pair, err := watch.Next(wait)
		cancel()
		switch {
		case err == nil:
			if last != nil {
				last.Release()
			}
			last = pair
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		st, _ := s.State()
		if err := put(last.Filtered, st); err != nil {
			return err
		}
	}
}

// shaper converts pictures of any size, layout and display to one format. Other shapes get black
// bars.
type shaper struct {
	canvas *av.Canvas // the whole
	inner  *av.Canvas // the picture between bars, nil without
	from   pipeline.Format
	shown  pipeline.Display
	placer av.Placer
}

func newShaper(f pipeline.Format) (*shaper, error) {
	c, err := av.NewCanvas(f)
	if err != nil {
		return nil, err
	}
	return &shaper{canvas: c}, nil
}

// shape returns f in the shaper's format, turned and stretched by d, valid until the next call.
func (s *shaper) shape(f *pipeline.Frame, d pipeline.Display) (*pipeline.Frame, error) {
	if f.Format != s.from || d != s.shown {
		s.placer.Turn = d.Turn
		if err := s.plan(d.Size(f.Width, f.Height)); err != nil {
			return nil, err
		}
		s.from, s.shown = f.Format, d
	}
	whole := s.canvas.View
	if s.inner == nil {
		return whole, s.placer.Put(whole, f)
	}
	if err := s.placer.Put(s.inner.View, f); err != nil {
		return nil, err
	}
	center(whole, s.inner.View)
	return whole, nil
}

// plan prepares for pictures of a size.
func (s *shaper) plan(width, height int) error {
	s.inner.Close()
	s.inner = nil
	whole := s.canvas.View.Format
	inner := whole
	inner.Width, inner.Height = pipeline.Fit(width, height, whole.Width, whole.Height)
	if inner == whole {
		return nil
	}
	blacken(s.canvas.View)
	var err error
	s.inner, err = av.NewCanvas(inner)
	return err
}

// blacken makes a frame of 8-bit YUV of limited range black.
func blacken(f *pipeline.Frame) {
	for i := range f.NumPlanes() {
		value := byte(128)
		if i == 0 {
			value = 16
		}
		for j := range f.Planes[i].Data {
			f.Planes[i].Data[j] = value
		}
	}
}

// center copies a picture to the middle of a larger one of the same layout, at an even place.
func center(to, from *pipeline.Frame) {
	x, y := (to.Width-from.Width)/2&^1, (to.Height-from.Height)/2&^1
	info := to.Layout.Info()
	for i := range from.NumPlanes() {
		width, rows := from.PlaneSize(i)
		left, top := x, y
		if i > 0 {
			top >>= info.SubY
			if !info.SemiPlanar {
				left >>= info.SubX
			}
		}
		for row := range rows {
			src := from.Planes[i].Data[row*from.Planes[i].Pitch:][:width]
			copy(to.Planes[i].Data[(top+row)*to.Planes[i].Pitch+left:], src)
		}
	}
}

func (s *shaper) close() {
	s.canvas.Close()
	s.inner.Close()
	s.placer.Close()
}

// limited returns the format of an output: 8 bits of limited range, by the matrix that readers
// assume for the size.
func limited(layout pipeline.Layout, width, height int) pipeline.Format {
	const hd = 720
	f := pipeline.Format{Layout: layout, Width: width, Height: height, Matrix: pipeline.BT601}
	if height >= hd {
		f.Matrix = pipeline.BT709
	}
	return f
}

// Pipe is a writer for one goroutine. A call that still waits for its reader when ctx ends is
// abandoned, and returns ctx's cause. The bytes must not be changed then.
type Pipe struct {
	ctx context.Context
	w   io.Writer
}

// NewPipe returns a pipe to w.
func NewPipe(ctx context.Context, w io.Writer) *Pipe { return &Pipe{ctx, w} }

func (p *Pipe) Write(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := p.w.Write(b)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-p.ctx.Done():
		return 0, context.Cause(p.ctx)
	}
}
