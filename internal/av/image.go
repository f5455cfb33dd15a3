package av

import (
	"image"

	"vidfilter/pipeline"
)

// Image returns the picture of a frame as it is displayed, in 8 bits: scaled to width x height and
// turned clockwise by a number of degrees, of which width and height are the result's. It borrows
// the frame.
func Image(f *pipeline.Frame, width, height, turn int) (*image.RGBA, error) {
	c, err := NewCanvas(pipeline.Format{Layout: pipeline.RGBA, Width: width, Height: height, FullRange: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	p := Placer{Turn: turn}
	defer p.Close()
	if err := p.Put(c.View, f); err != nil {
		return nil, err
	}
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		row := m.Pix[y*m.Stride:][:4*width]
		copy(row, c.View.Planes[0].Data[y*c.View.Planes[0].Pitch:])
		for i := 3; i < len(row); i += 4 {
			row[i] = 255
		}
	}
	return m, nil
}
