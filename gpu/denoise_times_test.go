package gpu

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
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
	for tier, want := range []string{"denoise_first5_16", "denoise_second6_16", "denoise_sum_16"} {
		p := kernels.DefaultDenoise()
		p.Noise, p.Quality = 10, kernels.Fast+kernels.Quality(tier)
		frames, free, err := panning(b, yuv(pipeline.NV12.At(10), 64, 48), 13)
		e2e.Must(t, err)
		defer free()
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

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// panning returns frames of a pan with noise, in pinned memory.
func panning(b *Backend, f pipeline.Format, n int) (frames []*pipeline.Frame, free func(), err error) {
	const side = 1024
	tile := denoisetest.Texture(3).Draw(side, side, 8, 1, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	noises := make([]int, 1<<20)
	for i := range noises {
		noises[i] = int(10 * rng.NormFloat64())
	}
	pool := pipeline.NewPool(b.Input(), 1)
	for k := range n {
		fr, err := pool.TakeFrame(f, nil)
		if err != nil {
			pool.Close()
			return nil, nil, err
		}
		i := rng.IntN(len(noises))
		for c := range 3 {
			part := plane.ComponentOf(fr, plane.Whole, c)
			row := make([]uint16, part.Width)
			for y := range part.Height {
				for x := range row {
					i++
					v := int(tile.Pix[(y+k)%side*side+(x+3*k)%side]) + noises[i%len(noises)]
					row[x] = uint16(min(max(v, 0), 255) << (part.Depth - 8))
				}
				part.Write(row, y)
			}
		}
		frames = append(frames, fr)
	}
	return frames, func() {
		for _, fr := range frames {
			fr.Release()
		}
		pool.Close()
	}, nil
}
