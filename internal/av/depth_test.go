package av

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"vidfilter/pipeline"
)

// Samples of every layout change depth by the definition, and come back as they were.
func TestRequantise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, base := range pipeline.Layouts() {
		if base.Info().Depth > 8 || base.Info().Samples > 1 {
			continue
		}
		for _, from := range pipeline.Layouts() {
			if from.Arrangement() != base {
				continue
			}
			for _, depth := range []int{8, 10, 12, 16} {
				to, info := base.At(depth), from.Info()
				if to == from {
					continue
				}
				for kind := range 4 {
					full, interlaced := kind&1 != 0, kind&2 != 0
					f := pipeline.Format{Layout: from, Width: 37, Height: 19, FullRange: full || info.RGB}
					src := pipeline.Blank(f)
					src.Interlaced = interlaced
					for i, y := range src.Rows() {
						setRow(src, i, y, func(int) int { return rng.IntN(1 << info.Depth) })
					}
					f.Layout = to
					dst := pipeline.Blank(f)
					Requantise(dst, src)
					checkRequantised(t, dst, src)
					if depth > info.Depth {
						f.Layout = from
						back := pipeline.Blank(f)
						back.Interlaced = interlaced
						Requantise(back, dst)
						for i, y := range src.Rows() {
							if string(back.Row(i, y)) != string(src.Row(i, y)) {
								t.Fatalf("%v to %v and back: plane %d, row %d differs", from, to, i, y)
							}
						}
					}
				}
			}
		}
	}
}

func checkRequantised(t *testing.T, dst, src *pipeline.Frame) {
	t.Helper()
	was, is := src.Layout.Info(), dst.Layout.Info()
	rounding := pipeline.Rounding(is.Depth)
	most, whole := 1<<was.Depth-1, 1<<is.Depth-1
	for i, y := range src.Rows() {
		line, step := y, 1
		if src.Interlaced {
			line /= 2
		}
		if i > 0 && was.SemiPlanar {
			step = 2
		}
		got := samplesOfRow(dst, i, y)
		for x, v := range samplesOfRow(src, i, y) {
			add := float64(rounding.At(x/step, line))
			exact := float64(v) * float64(int(1)<<is.Depth) / float64(int(1)<<was.Depth)
			if was.RGB || src.FullRange && i == 0 {
				exact = float64(v) * float64(whole) / float64(most)
			}
			if is.Depth > was.Depth {
				add = 0.5
			}
			// Near a whole number, both sides of the rounding step are right.
			if low, high := int(exact+add-1e-3), int(exact+add+1e-3); got[x] < min(low, whole) || got[x] > min(high, whole) {
				t.Fatalf("%v to %v, full %v: %d becomes %d, want %d", src.Layout, dst.Layout, src.FullRange, v, got[x], high)
			}
		}
	}
}

func setRow(f *pipeline.Frame, i, y int, value func(x int) int) {
	row, info := f.Row(i, y), f.Layout.Info()
	for x := range len(row) / info.SampleBytes() {
		if info.Depth == 8 {
			row[x] = byte(value(x))
		} else {
			binary.LittleEndian.PutUint16(row[2*x:], uint16(value(x)<<info.Shift))
		}
	}
}

func samplesOfRow(f *pipeline.Frame, i, y int) (all []int) {
	row, info := f.Row(i, y), f.Layout.Info()
	for x := range len(row) / info.SampleBytes() {
		if info.Depth == 8 {
			all = append(all, int(row[x]))
		} else {
			all = append(all, int(binary.LittleEndian.Uint16(row[2*x:])>>info.Shift))
		}
	}
	return all
}
