package encode

import "vidfilter/pipeline"

const (
	// What decoders take at level 5.1, the highest that is common: macroblocks of a picture, and samples on a side.
	maxStackSamples = 4096 * 2304
	maxStackSide    = 8192
	minStackWidth   = 64 // a stamp is 9 rows of blocks high at most, and encoders take pictures of this width
)

// stack says where original, filtered picture and stamp lie in the one picture that a viewer is sent.
type stack struct {
	scale         int // of the pictures: 1 for their own size, else by what they are scaled down
	width, height int // of each picture in the stack
	codedWidth    int
	codedHeight   int
	filteredY     int // where the filtered picture begins, in rows of luma
	stampY        int
}

// planStack takes the smallest scale whose stack decoders take and has so many samples at most; pictures that are
// small already are not scaled for that.
func planStack(width, height, samples int) stack {
	const small = 320 * 180
	for scale := 1; ; scale++ {
		s := stackOf(scaled(width, scale), scaled(height, scale))
		s.scale = scale
		if decodable(s.codedWidth, s.codedHeight) && (s.codedWidth*s.codedHeight <= samples || s.width*s.height <= small) {
			return s
		}
	}
}

// planPicture is the same for a picture alone, of any number of samples.
func planPicture(width, height int) (scale, w, h int) {
	for scale = 1; ; scale++ {
		if w, h = scaled(width, scale), scaled(height, scale); decodable(w, h) {
			return scale, w, h
		}
	}
}

func scaled(n, scale int) int { return (n + scale - 1) / scale }

func decodable(w, h int) bool { return w*h <= maxStackSamples && max(w, h) <= maxStackSide }

func stackOf(width, height int) stack {
	s := stack{width: width, height: height, codedWidth: max(minStackWidth, even(width)), filteredY: even(height)}
	s.stampY = 2 * s.filteredY
	s.codedHeight = s.stampY + StampHeight(s.codedWidth)
	return s
}

func even(n int) int { return n + n&1 }

func (s stack) coded(matrix pipeline.Matrix, full bool) pipeline.Format {
	return pipeline.Format{Layout: pipeline.YUV420P, Width: s.codedWidth, Height: s.codedHeight, Matrix: matrix, FullRange: full}
}

// compose fills the canvas with both pictures and the stamp.
func (s stack) compose(c *canvas, original, filtered *pipeline.Frame, placers *[2]placer, stamp Stamp) error {
	done := make(chan error, 1)
	go func() { done <- s.place(c, 0, original, &placers[0]) }()
	err := s.place(c, s.filteredY, filtered, &placers[1])
	if other := <-done; err == nil {
		err = other
	}
	f := c.view
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

func clearChroma(row []byte) {
	for i := range row {
		row[i] = 128
	}
}

// place puts a picture at a row of the canvas, and repeats its last samples up to where the next one begins.
func (s stack) place(c *canvas, top int, f *pipeline.Frame, p *placer) error {
	part := c.part(top, s.width, s.height)
	if err := p.put(part, f); err != nil {
		return err
	}
	for i := range 3 {
		shift := min(i, 1)
		w, h := part.PlaneSize(i)
		extend(part.Planes[i], w, h, s.codedWidth>>shift, s.filteredY>>shift)
	}
	return nil
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
