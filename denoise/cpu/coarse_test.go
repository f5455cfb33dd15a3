package cpu

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/enginetest"
	"vidfilter/denoise/plane"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// TestCoarse filters streams with noise at half and a quarter of the size, of every tier, layout,
// depth, kind of scan and length, and compares pictures with the reference's.
func TestCoarse(t *testing.T) {
	for i, layout := range pipeline.Layouts() {
		for j, interlaced := range []bool{false, true} {
			tier := denoise.Tier(i / 3 % 3)
			if (i%3 == 1) != interlaced {
				continue
			}
			t.Run(fmt.Sprintf("%v, fields %v", layout, interlaced), func(t *testing.T) {
				t.Parallel()
				s := stream{pipeline.Format{Layout: layout, Width: 135 - i%3, Height: 130 + 130*j - i%4}, interlaced, []int{1, 2, 8}[i%3]}
				o := denoise.Options{Settings: denoise.Default(tier), Sigma: 1}
				o.Grain = 0.2 * float64(i%2)
				if i%8 == 5 {
					o.Chroma = 0
				}
				compared := s.frames / 2
				in := func(e denoise.Engine, numbers ...int) denoise.Engine {
					return enginetest.WithHalf{Engine: &enginetest.Some{Engine: e, Numbers: numbers, Interlaced: s.interlaced}, Kind: i}
				}
				want := s.filter(t, in(denoise.Plain{}, compared), o)
				for _, isa := range isa.Names() {
					got := s.filter(t, in(newEngine(t, isa, 2), compared-1, compared), o)
					if checkFrame(t, fmt.Sprint(isa, ", frame ", compared), got[compared], want[compared], 10) {
						t.Errorf("%s: other vectors", isa)
					}
				}
			})
		}
	}
}

// TestBlotches: noise blurred by two or four samples is removed, and white noise is filtered as if
// there were no other sizes. A result depends on three frames each way at every size.
func TestBlotches(t *testing.T) {
	const frames, middle = 10, 5
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 352, Height: 256}
	texture := denoisetest.Texture(1)
	scene := denoisetest.Scene(func(x, y float64) float64 { return texture(x/3, y/3) })
	for _, c := range []struct {
		blur         float64 // 0: white
		luma, chroma float64 // dB, at least gained over full size alone
	}{
		{0, 0, 0},
		{2, 0.6, -0.3}, // full size removes as much of the chroma, as it measures the means of blocks
		{4, 0.8, 5},
	} {
		t.Run(fmt.Sprint("blur ", c.blur), func(t *testing.T) {
			t.Parallel()
			var clean, noisy []*pipeline.Frame
			for n := range frames {
				pic := scene.Moved(1.5*float64(n), -0.5*float64(n)).Picture(format.Width, format.Height, 8, 1, 1)
				clean, noisy = append(clean, newFrame(format)), append(noisy, newFrame(format))
				pic.Into(clean[n], plane.Whole)
				for i, p := range pic.Planes {
					seed := uint64(3*n + i)
					if c.blur > 0 {
						pic.Planes[i] = denoisetest.Blotched(p, 8, c.blur, seed)
					} else {
						pic.Planes[i] = denoisetest.Noisy(p, 8, seed)
					}
				}
				pic.Into(noisy[n], plane.Whole)
			}
			o := denoise.Options{Settings: denoise.Default(denoise.Good)}
			run := func(e denoise.Engine, from int) *pipeline.Frame {
				f := denoise.NewFilter(e, pipeline.NewPool(enginetest.Memory{}, frames), o)
				return filtered(t, f, noisy[from:])[middle-from]
			}
			got, alone := run(newEngine(t, isa.Fastest().String(), 2), 0), run(fullSize{newEngine(t, isa.Fastest().String(), 2)}, 0)
			if c.blur == 0 {
				if !equal(got, alone) {
					t.Error("white noise is filtered at other sizes")
				}
				whole, part := run(given(t), 0), run(given(t), middle-3)
				if !equal(part, whole) || equal(whole, got) {
					t.Error("a part of the clip differs, or noise at other sizes is left")
				}
				return
			}
			g, a, w := plane.Of(got, plane.Whole), plane.Of(alone, plane.Whole), plane.Of(clean[middle], plane.Whole)
			for i, least := range []float64{c.luma, c.chroma, c.chroma} {
				before, after := denoisetest.PSNR(a.Planes[i], w.Planes[i]), denoisetest.PSNR(g.Planes[i], w.Planes[i])
				t.Logf("plane %d: %.2f dB, %.2f at full size alone", i, after, before)
				if after < before+least {
					t.Errorf("plane %d: %.2f dB, %.2f at full size alone", i, after, before)
				}
			}
		})
	}
}

func given(t *testing.T) denoise.Engine {
	return enginetest.WithHalf{Engine: newEngine(t, isa.Fastest().String(), 2), Kind: 0}
}

// fullSize is an engine that filters at full size only.
type fullSize struct{ denoise.Engine }

func (e fullSize) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	j.Noise.Half = nil
	return e.Engine.Denoise(ctx, j)
}

func equal(a, b *pipeline.Frame) bool {
	for i, y := range a.Rows() {
		if !bytes.Equal(a.Row(i, y), b.Row(i, y)) {
			return false
		}
	}
	return true
}
