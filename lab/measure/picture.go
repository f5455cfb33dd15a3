package measure

import (
	"encoding/binary"
	"math/rand/v2"

	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Picture returns a frame of slopes, edges and discs with noise, always the same. Alpha is 0
// because the kernel of 001 treats it as a fourth colour; so it agrees with the others.
func Picture(f pipeline.Format) *pipeline.Frame {
	frame := pipeline.Blank(f)
	info := f.Layout.Info()
	size := info.SampleBytes()
	seed := uint32(1)
	for i := range f.NumPlanes() {
		w, rows := f.PlaneSize(i)
		w /= size
		for y := range rows {
			row := frame.Row(i, y)
			for x := range w {
				seed = seed*1664525 + 1013904223
				if f.Layout == pipeline.RGBA && x%4 == 3 {
					continue
				}
				v := sample(i, x, y, w, rows, seed>>24)
				if size == 1 {
					row[x] = v
					continue
				}
				deep := uint16(v)<<(info.Depth-8) | uint16(seed>>16)&(1<<(info.Depth-8)-1)
				binary.LittleEndian.PutUint16(row[2*x:], deep<<info.Shift)
			}
		}
	}
	return frame
}

func sample(plane, x, y, w, rows int, noise uint32) byte {
	v := 50 + 20*plane + 80*x/w + 30*y/rows
	if dx, dy := x%97-48, y%83-41; dx*dx+dy*dy < 900 || x/160%3 == 0 && y/120%2 == 0 {
		v += 55
	}
	return byte(v + int(noise)%21 - 10)
}

// PanSigma is the sigma of the noise of Pan, in levels of 8 bits.
const PanSigma = 10

// Pan returns n planar frames of a pan over a picture, always the same, each with its own noise.
func Pan(f pipeline.Format, n int) (frames []*pipeline.Frame) {
	const side = 1024
	tile, noise := make([]int, side*side), make([]int, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range tile {
		tile[i] = int(sample(0, i%side, i/side, side, side, 10))
	}
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

// Draw draws picture n of a scene on a yuv420p frame.
func Draw(r *scene.Renderer, dst *pipeline.Frame, n int) {
	rest := make([]byte, r.FrameSize())
	r.Frame(rest, n)
	for i, y := range dst.Rows() {
		rest = rest[copy(dst.Row(i, y), rest):]
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
