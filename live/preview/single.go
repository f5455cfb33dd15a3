package preview

import (
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// single draws one view of a pair: for H.264 padded with the picture's last samples, for JPEG as it
// is.
type single struct {
	view   View
	split  *av.Canvas // both halves in the frames' format, if they must be converted; else nil
	placer av.Placer

	scale                   float64
	width, height           int
	codedWidth, codedHeight int
}

// newSingle draws frames like f.
func newSingle(o Options, f pipeline.Format) (s *single, err error) {
	s = &single{view: o.View}
	s.scale, s.width, s.height = planPicture(f.Width, f.Height)
	s.codedWidth, s.codedHeight = s.width, s.height
	to := jpegFormat
	if o.Kind != JPEG {
		s.codedWidth, s.codedHeight = max(minCodedWidth, even(s.width)), even(s.height)
		to = av.AsYUV(f)
		to.Layout = pipeline.YUV420P
	}
	to.Width, to.Height = s.width, s.height
	if s.view == ViewSplit && f != to {
		s.split, err = av.NewCanvas(f)
	}
	return s, err
}

func (s *single) size() (width, height int) { return s.codedWidth, s.codedHeight }

func (s *single) compose(c *av.Canvas, original, filtered *pipeline.Frame, _ Stamp) error {
	part := c.Part(0, s.width, s.height)
	if err := s.draw(part, original, filtered); err != nil {
		return err
	}
	extendAll(part, s.codedWidth, s.codedHeight)
	return nil
}

func (s *single) describe(c *Config) { c.Width, c.Height, c.Scale = s.width, s.height, s.scale }

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
