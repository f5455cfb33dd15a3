package preview

import (
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// single draws one view of a pair.
type single struct {
	view   View
	split  *av.Canvas // both halves in the frames' format, if they must be converted; else nil
	placer av.Placer
}

// newSingle draws frames like f on pictures of format to.
func newSingle(view View, f, to pipeline.Format) (s single, err error) {
	s.view = view
	if view == ViewSplit && f != to {
		s.split, err = av.NewCanvas(f)
	}
	return s, err
}

func (s *single) draw(to, original, filtered *pipeline.Frame) error {
	switch {
	case s.view == ViewOriginal:
		return s.placer.Put(to, original)
	case s.view == ViewFiltered:
		return s.placer.Put(to, filtered)
	case s.split == nil:
		pipeline.DrawSplit(to, original, filtered)
		return nil
	}
	pipeline.DrawSplit(s.split.View, original, filtered)
	return s.placer.Put(to, s.split.View)
}

func (s *single) close() {
	s.split.Close()
	s.placer.Close()
}

// alone draws one view for an H.264 encoder, and pads it with the picture's last samples.
type alone struct {
	single
	scale, width, height    int
	codedWidth, codedHeight int
}

func newAlone(view View, f *pipeline.Frame) (*alone, error) {
	a := &alone{}
	a.scale, a.width, a.height = planPicture(f.Width, f.Height)
	a.codedWidth, a.codedHeight = max(minCodedWidth, even(a.width)), even(a.height)
	to := av.AsYUV(f.Format)
	to.Layout = pipeline.YUV420P
	to.Width, to.Height = a.width, a.height
	var err error
	a.single, err = newSingle(view, f.Format, to)
	return a, err
}

func (a *alone) size() (width, height int) { return a.codedWidth, a.codedHeight }

func (a *alone) compose(c *av.Canvas, original, filtered *pipeline.Frame, _ Stamp) error {
	part := c.Part(0, a.width, a.height)
	if err := a.draw(part, original, filtered); err != nil {
		return err
	}
	extendAll(part, a.codedWidth, a.codedHeight)
	return nil
}

func (a *alone) describe(c *Config) {
	c.Width, c.Height, c.Scale = a.width, a.height, a.scale
}

// exact draws one view for a JPEG encoder, without padding.
type exact struct {
	single
	scale, width, height int
}

func newExact(view View, f *pipeline.Frame) (*exact, error) {
	e := &exact{}
	e.scale, e.width, e.height = planPicture(f.Width, f.Height)
	var err error
	e.single, err = newSingle(view, f.Format, jpegFormat(e.width, e.height))
	return e, err
}

func (e *exact) size() (width, height int) { return e.width, e.height }

func (e *exact) compose(c *av.Canvas, original, filtered *pipeline.Frame, _ Stamp) error {
	return e.draw(c.View, original, filtered)
}

func (e *exact) describe(c *Config) { c.Width, c.Height, c.Scale = e.width, e.height, e.scale }
