package preview

import (
	"bytes"
	"fmt"
	"image"
	"image/png"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// PNG returns frames side by side, each scaled to width x height and then turned clockwise by 0,
// 90, 180 or 270 degrees. Deeper samples become 8 bits. It borrows the frames.
func PNG(width, height, turn int, frames ...*pipeline.Frame) ([]byte, error) {
	w, h := width, height
	if turn%180 != 0 {
		w, h = h, w
	}
	all := image.NewNRGBA(image.Rect(0, 0, w*len(frames), h))
	c, err := av.NewCanvas(pipeline.Format{Layout: pipeline.RGBA, Width: width, Height: height, FullRange: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var placer av.Placer
	defer placer.Close()
	for i, f := range frames {
		if err := placer.Put(c.View, f); err != nil {
			return nil, fmt.Errorf("convert a picture: %w", err)
		}
		turned(all, i*w, c.View, turn)
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, all)
	return b.Bytes(), err
}

// turned draws a picture of RGBA at column left of an image.
func turned(to *image.NRGBA, left int, f *pipeline.Frame, turn int) {
	for y := range f.Height {
		row := f.Planes[0].Data[y*f.Planes[0].Pitch:][:4*f.Width]
		at, step := to.PixOffset(left, y), 4
		switch turn {
		case 90:
			at, step = to.PixOffset(left+f.Height-1-y, 0), to.Stride
		case 180:
			at, step = to.PixOffset(left+f.Width-1, f.Height-1-y), -4
		case 270:
			at, step = to.PixOffset(left+y, f.Width-1), -to.Stride
		}
		for x := 0; x < len(row); x += 4 {
			copy(to.Pix[at:at+3], row[x:])
			to.Pix[at+3] = 255
			at += step
		}
	}
}
