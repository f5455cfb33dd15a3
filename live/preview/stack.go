package preview

import (
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

const (
	// Limits of level 5.1, the highest level in wide use: samples per picture, and per side.
	maxStackSamples = 4096 * 2304
	maxStackSide    = 8192
	minCodedWidth   = 64 // keeps a stamp within 9 rows of blocks; encoders take this width
)

// stack is the layout of one picture or both, and the stamp, in the picture for a viewer.
type stack struct {
	view          View
	smaller       Smaller
	scale         float64 // divisor of the pictures' size
	width, height int     // of each picture in the stack
	codedWidth    int
	codedHeight   int
	filteredY     int // first row of luma of the filtered picture
	stampY        int
}

// planStack returns the stack of the smallest scale that decoders accept, with at most the given
// number of samples, or of that many steps smaller. Small pictures are not scaled down for the
// samples, and medium ones not by steps.
func planStack(view View, width, height, samples, smaller int) stack {
	const small, medium = 320 * 180, 640 * 360
	for halves := 2; ; halves++ {
		s := stackOf(view, scaled(width, halves), scaled(height, halves))
		s.scale = float64(halves) / 2
		if !decodable(s.codedWidth, s.codedHeight) || s.codedWidth*s.codedHeight > samples && s.width*s.height > small {
			continue
		}
		if smaller == 0 || scaled(width, halves+1)*scaled(height, halves+1) < medium {
			return s
		}
		smaller--
	}
}

// planPicture returns the smallest scale at which decoders accept a single picture.
func planPicture(width, height int) (scale float64, w, h int) {
	for halves := 2; ; halves++ {
		if w, h = scaled(width, halves), scaled(height, halves); decodable(w, h) {
			return float64(halves) / 2, w, h
		}
	}
}

// scaled divides n by a number of halves.
func scaled(n, halves int) int { return (2*n + halves - 1) / halves }

func decodable(w, h int) bool { return w*h <= maxStackSamples && max(w, h) <= maxStackSide }

func stackOf(view View, width, height int) stack {
	s := stack{view: view, width: width, height: height, codedWidth: max(minCodedWidth, even(width)), stampY: even(height)}
	if view == ViewStack {
		s.filteredY, s.stampY = s.stampY, 2*s.stampY
	}
	s.codedHeight = s.stampY + StampHeight(s.codedWidth)
	return s
}

func even(n int) int { return n + n&1 }

// stacker draws stacks.
type stacker struct {
	stack
	placers [2]av.Placer
}

func (s *stacker) size() (width, height int) { return s.codedWidth, s.codedHeight }

func (s *stacker) describe(c *Config) {
	c.Width, c.Height, c.FilteredY, c.StampY, c.Scale, c.Smaller = s.width, s.height, s.filteredY, s.stampY, s.scale, s.smaller
	c.Single = map[View]string{ViewOriginal: "original", ViewFiltered: "filtered"}[s.view]
}

func (s *stacker) close() {
	for i := range s.placers {
		s.placers[i].Close()
	}
}

func (s *stacker) compose(c *av.Canvas, original, filtered *pipeline.Frame, stamp Stamp) error {
	err := s.pictures(c, original, filtered)
	f := c.View
	luma := f.Planes[0]
	luma.Data = luma.Data[s.stampY*luma.Pitch:]
	DrawStamp(luma, f.Width, f.FullRange, stamp)
	for _, p := range f.Planes[1:3] {
		for y := s.stampY / 2; y < f.Height/2; y++ {
			clearChroma(p.Data[y*p.Pitch:][:f.Width/2])
		}
	}
	return err
}

func (s *stacker) pictures(c *av.Canvas, original, filtered *pipeline.Frame) error {
	switch s.view {
	case ViewOriginal:
		return s.place(c, 0, original, &s.placers[0])
	case ViewFiltered:
		return s.place(c, 0, filtered, &s.placers[1])
	}
	done := make(chan error, 1)
	go func() { done <- s.place(c, 0, original, &s.placers[0]) }()
	err := s.place(c, s.filteredY, filtered, &s.placers[1])
	if other := <-done; err == nil {
		err = other
	}
	return err
}

func clearChroma(row []byte) {
	for i := range row {
		row[i] = 128
	}
}

// place draws a picture at a row, and repeats its last samples up to the next part.
func (s stack) place(c *av.Canvas, top int, f *pipeline.Frame, p *av.Placer) error {
	part := c.Part(top, s.width, s.height)
	if err := p.Put(part, f); err != nil {
		return err
	}
	extendAll(part, s.codedWidth, even(s.height))
	return nil
}

// extendAll repeats the last column and row of a yuv420p picture, in the memory behind them, up to
// an even width and height.
func extendAll(f *pipeline.Frame, wide, high int) {
	for i := range 3 {
		shift := min(i, 1)
		w, h := f.PlaneSize(i)
		extend(f.Planes[i], w, h, wide>>shift, high>>shift)
	}
}

// extend repeats the last column and row of w x h samples.
func extend(p pipeline.Plane, w, h, wide, high int) {
	if wide > w {
		for y := range h {
			row := p.Data[y*p.Pitch:][:wide]
			for x := w; x < wide; x++ {
				row[x] = row[w-1]
			}
		}
	}
	for y := h; y < high; y++ {
		copy(p.Data[y*p.Pitch:][:wide], p.Data[(h-1)*p.Pitch:][:wide])
	}
}
