package cpu

import (
	"encoding/binary"
	"slices"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// moved returns a gray frame whose sample x, y is the sample of src at from(x, y).
func moved(src *pipeline.Frame, width, height int, from func(x, y int) (int, int)) *pipeline.Frame {
	format := src.Format
	format.Width, format.Height = width, height
	out := newFrame(format)
	size := src.Layout.Info().SampleBytes()
	for y := range height {
		for x := range width {
			fx, fy := from(x, y)
			copy(out.Row(0, y)[x*size:][:size], src.Row(0, fy)[fx*size:])
		}
	}
	return out
}

func movedAll(frames []*pipeline.Frame, width, height int, from func(x, y int) (int, int)) (all []*pipeline.Frame) {
	for _, f := range frames {
		all = append(all, moved(f, width, height, from))
	}
	return all
}

// gray returns the samples of a frame.
func gray(f *pipeline.Frame) (all []int) {
	for y := range f.Height {
		row := f.Row(0, y)
		for x := range f.Width {
			if f.Layout.Info().Depth == 8 {
				all = append(all, int(row[x]))
			} else {
				all = append(all, int(binary.LittleEndian.Uint16(row[2*x:])))
			}
		}
	}
	return all
}

// TestSeenFromElsewhere checks this path for the properties of the reference that denoise's
// TestTurned and TestCropped check.
func TestSeenFromElsewhere(t *testing.T) {
	const start, margin, size, inner = 48, 24, 96, 96 - 2*24
	for _, isa := range isa.Names() {
		for _, layout := range []pipeline.Layout{pipeline.GRAY, pipeline.GRAY.At(10)} {
			e, s := newEngine(t, isa, 2), denoise.Default(denoise.Good)
			filtered := func(frames []*pipeline.Frame) *pipeline.Frame {
				format := frames[0].Format
				format.Layout = format.Layout.At(10) // without the pattern of 8 bits
				out := newFrame(format)
				filterField(t, e, out, frames, plane.Whole, len(frames)/2, noise.Flat(10), s)
				return out
			}
			whole := clip(pipeline.Format{Layout: layout, Width: 256, Height: 192}, 5, 10) // its scenes meet at 179
			part := movedAll(whole, size, size, func(x, y int) (int, int) { return x + start, y + start })
			got := moved(filtered(part), inner, inner, func(x, y int) (int, int) { return x + margin, y + margin })
			want := moved(filtered(whole), inner, inner, func(x, y int) (int, int) { return x + start + margin, y + start + margin })
			if !slices.Equal(gray(got), gray(want)) {
				t.Errorf("%s, %s: a part has other bits than the whole", isa, layout)
			}

			const width, height = 112, 64 // patches and cells are as far from the left as from the right
			alone := clip(pipeline.Format{Layout: layout, Width: width, Height: height}, 1, 10)
			for name, turn := range map[string]func(x, y int) (int, int){
				"left and right": func(x, y int) (int, int) { return width - 1 - x, y },
				"top and bottom": func(x, y int) (int, int) { return x, height - 1 - y },
			} {
				got := gray(moved(filtered(movedAll(alone, width, height, turn)), width, height, turn))
				differ := 0
				for i, v := range gray(filtered(alone)) {
					if v != got[i] {
						differ++
					}
				}
				if differ*200 > len(got) {
					t.Errorf("%s, %s, %s: %d of %d samples differ", isa, layout, name, differ, len(got))
				}
				t.Logf("%s, %s, %s: %d of %d samples differ", isa, layout, name, differ, len(got))
			}
		}
	}
}
