package preview

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/png"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// PNG returns frames side by side, each scaled to width x height and then turned clockwise by 0,
// 90, 180 or 270 degrees. Deeper samples become 8 bits. It borrows the frames.
func PNG(width, height, turn int, frames ...*pipeline.Frame) ([]byte, error) {
	var all *image.RGBA
	for i, f := range frames {
		m, err := av.Image(f, width, height, turn)
		if err != nil {
			return nil, fmt.Errorf("convert a picture: %w", err)
		}
		size := m.Bounds()
		if all == nil {
			all = image.NewRGBA(image.Rect(0, 0, size.Dx()*len(frames), size.Dy()))
		}
		draw.Draw(all, size.Add(image.Pt(i*size.Dx(), 0)), m, image.Point{}, draw.Src)
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, all)
	return b.Bytes(), err
}
