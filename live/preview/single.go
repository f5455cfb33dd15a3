package preview

import (
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// singleView draws one view of a pair: for H.264 padded with the picture's last samples, for JPEG
// as it is.
type singleView struct {
	view   View
	split  *av.Canvas // both halves in the frames' format, if they must be converted; else nil
	right  *av.Canvas // the right half, if they are turned or differ in format
	other  av.Placer  // for it, if they differ
	placer av.Placer

	scale                   float64
	width, height           int
	codedWidth, codedHeight int
}

// newSingle draws frames like f, with originals of another format perhaps.
func newSingle(o Options, original, f pipeline.Format) (s *singleView, err error) {
	s = &singleView{view: o.View}
	s.placer.Turn, s.other.Turn = o.Display.Turn, o.Display.Turn
	s.scale, s.width, s.height = planPicture(o.Display.Size(f.Width, f.Height))
	s.codedWidth, s.codedHeight = s.width, s.height
	to := jpegFormat
	if o.Kind != JPEG {
		s.codedWidth, s.codedHeight = max(minCodedWidth, even(s.width)), even(s.height)
		to = av.AsYUV(f)
		to.Layout = pipeline.YUV420P
	}
	to.Width, to.Height = s.width, s.height
	switch {
	case s.view != ViewSplit:
	case o.Display.Turn != 0 || original != f:
		s.right, err = av.NewCanvas(to)
	case f != to:
		s.split, err = av.NewCanvas(f)
	}
	return s, err
}

func (s *singleView) size() (width, height int) { return s.codedWidth, s.codedHeight }

func (s *singleView) compose(c *av.Canvas, original, filtered *pipeline.Frame, _ Stamp) error {
	part := c.Part(0, s.width, s.height)
	if err := s.draw(part, original, filtered); err != nil {
		return err
	}
	extendAll(part, s.codedWidth, s.codedHeight)
	return nil
}

func (s *singleView) describe(c *Config) { c.Width, c.Height, c.Scale = s.width, s.height, s.scale }

func (s *singleView) draw(to, original, filtered *pipeline.Frame) error {
	switch {
	case s.view == ViewOriginal:
		return s.placer.Put(to, original)
	case s.view == ViewFiltered:
		return s.placer.Put(to, filtered)
	case s.right != nil:
		if err := s.placer.Put(to, original); err != nil {
			return err
		}
		right := &s.placer
		if original.Format != filtered.Format {
			right = &s.other
		}
		if err := right.Put(s.right.View, filtered); err != nil {
			return err
		}
		pipeline.DrawSplit(to, to, s.right.View)
		return nil
	case s.split == nil:
		pipeline.DrawSplit(to, original, filtered)
		return nil
	}
	pipeline.DrawSplit(s.split.View, original, filtered)
	return s.placer.Put(to, s.split.View)
}

func (s *singleView) close() {
	s.split.Close()
	s.right.Close()
	s.placer.Close()
	s.other.Close()
}
