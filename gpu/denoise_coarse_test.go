package gpu

import (
	"context"
	"fmt"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/enginetest"
	"vidfilter/internal/e2e"
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
			filtered := func(e denoise.Engine, alloc, input pipeline.Allocator, numbers ...int) [][]byte {
				some := &enginetest.Some{Engine: e, Numbers: numbers, Interlaced: interlaced}
				all, err := denoisedBy(context.Background(), alloc, input, []noisyClip{clip}, func(p *pipeline.Pool) pipeline.Filter {
					return denoise.NewFilter(enginetest.WithHalf{Engine: some, Kind: i}, p, o)
				})
				e2e.Must(t, err)
				return all
			}
			n := frames / 2
			got := filtered(b.denoiser(o.Settings), b, b.Input(), n-1, n)
			want := filtered(denoise.Plain{}, enginetest.Memory{}, enginetest.Memory{}, n)
			agreeAt(t, l, got[n:n+1], want[n:n+1])
		})
	}
}
