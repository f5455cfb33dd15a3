package encode

import "vidfilter/pipeline"

// single draws one view of a pair, alone.
type single struct {
	view   View
	split  *canvas // both halves in the frames' format, where they are converted then; else nil
	placer placer
}

// newSingle draws frames like f on pictures of a format.
func newSingle(view View, f, to pipeline.Format) (s single, err error) {
	s.view = view
	if view == ViewSplit && f != to {
		s.split, err = newCanvas(f)
	}
	return s, err
}

func (s *single) draw(to, original, filtered *pipeline.Frame) error {
	switch {
	case s.view == ViewOriginal:
		return s.placer.put(to, original)
	case s.view == ViewFiltered:
		return s.placer.put(to, filtered)
	case s.split == nil:
		pipeline.DrawSplit(to, original, filtered)
		return nil
	}
	pipeline.DrawSplit(s.split.view, original, filtered)
	return s.placer.put(to, s.split.view)
}

func (s *single) close() {
	s.split.close()
	s.placer.scaler.Close()
}

// alone fills the canvas of an H.264 encoder with one view of a pair, and what is over with the picture's last samples.
type alone struct {
	single
	scale, width, height    int
	codedWidth, codedHeight int
}

func newAlone(view View, f *pipeline.Frame) (*alone, error) {
	a := &alone{}
	a.scale, a.width, a.height = planPicture(f.Width, f.Height)
	a.codedWidth, a.codedHeight = max(minCodedWidth, even(a.width)), even(a.height)
	to := yuvFormat(f.Format)
	to.Layout = pipeline.YUV420P
	to.Width, to.Height = a.width, a.height
	var err error
	a.single, err = newSingle(view, f.Format, to)
	return a, err
}

func (a *alone) size() (width, height int) { return a.codedWidth, a.codedHeight }

func (a *alone) compose(c *canvas, original, filtered *pipeline.Frame, _ Stamp) error {
	part := c.part(0, a.width, a.height)
	if err := a.draw(part, original, filtered); err != nil {
		return err
	}
	extendAll(part, a.codedWidth, a.codedHeight)
	return nil
}

func (a *alone) describe(c *PreviewConfig) {
	c.Width, c.Height, c.Scale = a.width, a.height, a.scale
}
