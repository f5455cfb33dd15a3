package gpu

import (
	"context"
	"fmt"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/pipeline"
)

// TestDenoiseCoarse compares streams with noise at half and a quarter of the size, of every layout
// and depth, with the reference.
func TestDenoiseCoarse(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	for i, l := range pipeline.Layouts() {
		if slow && (i+int(l.Arrangement()))%9 != 0 {
			continue
		}
		interlaced := i%3 == 1
		t.Run(fmt.Sprintf("%s, interlaced %v", l, interlaced), func(t *testing.T) {
			frames, height := []int{1, 2, 8}[i%3], 130-i%4
			if interlaced {
				height += 130
			}
			clip := noisyClip{yuv(l, 135-i%3, height), frames, interlaced}
			o := denoiseOptions(denoise.Tier(i / 3 % 3))
			o.Grain = 0.2 * float64(i%2)
			filtered := func(e denoise.Engine, alloc, input pipeline.Allocator) [][]byte {
				all, err := denoisedBy(context.Background(), alloc, input, []noisyClip{clip}, func(p *pipeline.Pool) pipeline.Filter {
					return denoise.NewFilter(withHalf{e, i}, p, o)
				})
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			n := frames / 2
			got := filtered(b.denoiser(o.Settings), b, b.Input())
			want := filtered(&some{numbers: []int{n}, interlaced: interlaced}, goMemory{}, goMemory{})
			agreeAt(t, l, got[n:n+1], want[n:n+1])
		})
	}
}

// withHalf has an engine take noise for noise at half the size, and in part at full size or a
// quarter.
type withHalf struct {
	denoise.Engine
	kind int
}

func (c withHalf) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	j.Noise = noise.Flat([]float64{0.5, 0.5, 6}[c.kind%3])
	j.Noise.Half = &noise.Half{Model: noise.Flat(5), Share: [3]float64{float64(c.kind % 2), 1, 0.7}}
	if c.kind%4 < 2 {
		j.Noise.Half.Half = &noise.Half{Model: noise.Flat(4), Share: [3]float64{0, 0.6, 1}}
	}
	return c.Engine.Denoise(ctx, j)
}
