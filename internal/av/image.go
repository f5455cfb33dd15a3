package av

import (
	"image"

	"vidfilter/pipeline"
)

// Image returns the picture of a frame in 8 bits, scaled to width x height and then turned
// clockwise by 0, 90, 180 or 270 degrees. HDR is mapped to SDR. It borrows the frame.
func Image(f *pipeline.Frame, width, height, turn int) (*image.RGBA, error) {
	c, err := NewCanvas(pipeline.Format{Layout: pipeline.RGBA, Width: width, Height: height, FullRange: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := draw(c.View, f); err != nil {
		return nil, err
	}
	if turn%180 != 0 {
		width, height = height, width
	}
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	turned(m, c.View, turn)
	return m, nil
}

// draw fills a picture of RGBA with a frame.
func draw(dst, f *pipeline.Frame) error {
	var p Placer
	defer p.Close()
	mapping := map[string]func() *tones{"PQ": tonesOfPQ, "HLG": tonesOfHLG}[HDR(f)]
	if mapping == nil {
		return p.Put(dst, f)
	}
	deep, err := NewCanvas(pipeline.Format{Layout: pipeline.GBRP.At(16), Width: dst.Width, Height: dst.Height, FullRange: true})
	if err != nil {
		return err
	}
	defer deep.Close()
	if err := p.Put(deep.View, f); err != nil {
		return err
	}
	mapping().put(dst, deep.View, wide(f))
	return nil
}

// turned fills an image with a picture of RGBA, without its alpha.
func turned(to *image.RGBA, f *pipeline.Frame, turn int) {
	for y := range f.Height {
		row := f.Planes[0].Data[y*f.Planes[0].Pitch:][:4*f.Width]
		at, step := to.PixOffset(0, y), 4
		switch turn {
		case 90:
			at, step = to.PixOffset(f.Height-1-y, 0), to.Stride
		case 180:
			at, step = to.PixOffset(f.Width-1, f.Height-1-y), -4
		case 270:
			at, step = to.PixOffset(y, f.Width-1), -to.Stride
		}
		for x := 0; x < len(row); x += 4 {
			copy(to.Pix[at:at+3], row[x:])
			to.Pix[at+3] = 255
			at += step
		}
	}
}
