package measure

import (
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"sync"

	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Picture returns a frame of slopes, edges and noise, always the same.
func Picture(f pipeline.Format) *pipeline.Frame {
	frame := pipeline.Blank(f)
	scene.Pattern(frame, rand.New(rand.NewPCG(1, 1)))
	ClearAlpha(frame)
	return frame
}

// WritePNG writes a picture to a file.
func WritePNG(name string, p image.Image) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, p), f.Close())
}

// ClearAlpha sets the alpha of RGBA to 0. The kernel of 001 treats alpha as a fourth colour, and so
// agrees with the others.
func ClearAlpha(f *pipeline.Frame) {
	if f.Layout != pipeline.RGBA {
		return
	}
	for y := range f.Height {
		for row := f.Row(0, y); len(row) > 0; row = row[4:] {
			row[3] = 0
		}
	}
}

// FormatOf returns the format of a measured frame.
func FormatOf(l pipeline.Layout, s Size) pipeline.Format {
	return pipeline.Format{Layout: l, Width: s.Width, Height: s.Height, Matrix: pipeline.BT709}
}

// FrameBytes counts the bytes of a frame's samples, without padding.
func FrameBytes(f pipeline.Format) (n int) {
	for i := range f.NumPlanes() {
		w, rows := f.PlaneSize(i)
		n += w * rows
	}
	return n
}

// PanSigma is the sigma of the noise of Pan, in levels of 8 bits.
const PanSigma = 10

const panSide = 1024 // of the picture under Pan

// panned draws that picture once.
var panned = sync.OnceValue(func() []int {
	const side = panSide
	lake := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: side, Height: side})
	scene.Config{Width: side, Height: side, Frames: 1, RateNum: 24, RateDen: 1, Bare: true}.Draw(lake, 0)
	tile := make([]int, side*side)
	for i := range tile {
		tile[i] = int(lake.Row(0, i/side)[i%side])
	}
	return tile
})

// Pan returns n planar frames of a pan over a picture, always the same, each with its own noise.
func Pan(f pipeline.Format, n int) (frames []*pipeline.Frame) {
	const side = panSide
	tile, noise := panned(), make([]int, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = int(PanSigma * rng.NormFloat64())
	}
	info := f.Layout.Info()
	for k := range n {
		frame, at := pipeline.Blank(f), rng.IntN(len(noise))
		for i, y := range frame.Rows() {
			row, line := frame.Row(i, y), tile[(y+k)%side*side:][:side]
			for x := range len(row) / info.SampleBytes() {
				at++
				v := min(max(line[(x+3*k)%side]+noise[at%len(noise)], 0), 255)
				if info.Depth == 8 {
					row[x] = byte(v)
					continue
				}
				binary.LittleEndian.PutUint16(row[2*x:], uint16(v)<<(info.Depth-8+info.Shift))
			}
		}
		frames = append(frames, frame)
	}
	return frames
}
