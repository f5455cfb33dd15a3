package gpu

import (
	"slices"
	"testing"
	"time"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// TestDenoiseTimes: all kernels of a frame are timed, together and one by one, for each tier.
func TestDenoiseTimes(t *testing.T) {
	compares(t)
	if !onDriver(t, oneDevice()) {
		return
	}
	b, twice := open(t, Options{}), Repeat{Batches: 2, Runs: 1, Time: time.Hour}
	clip := noisyClip{yuv(pipeline.NV12.At(10), 64, 48), 13, false}
	var frames []*pipeline.Frame
	for n := range clip.frames {
		frames = append(frames, clip.frame(n))
	}
	for tier, want := range []string{"denoise_first5_16", "denoise_second6_16", "denoise_sum_16"} {
		p := kernels.DefaultDenoise()
		p.Noise, p.Quality = 10, kernels.Fast+kernels.Quality(tier)
		got, err := b.TimeDenoise(t.Context(), frames, p, twice, true)
		if err != nil || len(got.All) != twice.Batches {
			t.Fatalf("tier %d: %v, %v", tier, got.All, err)
		}
		var names []string
		for _, k := range got.Each {
			if k.Time <= 0 || k.Time > got.All[0] || k.Blocks[0] <= 0 || k.Threads < 32 {
				t.Errorf("%+v of %v", k, got.All)
			}
			names = append(names, k.Kernel)
		}
		if !slices.Contains(names, "denoise_planes_16") || !slices.Contains(names, "denoise_finish_16") || !slices.Contains(names, want) {
			t.Errorf("tier %d: %q", tier, names)
		}
	}
}
