package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"vidfilter/encode"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/samples/scene"
)

// Grain as heavy as on film, in 1/256 of a level, and frames a second.
const (
	clipGrain = 9 * 256
	clipRate  = 24
)

// makeClip writes frames of the samples' scene, with grain, to a file in folder and returns its
// name. The encoding is coarse but keeps the grain, as footage does.
func makeClip(ctx context.Context, cpu *kernels.CPU, folder string, size Size, frames int) (name string, err error) {
	cfg := scene.Config{
		Width: size.Width, Height: size.Height, Frames: frames, RateNum: clipRate, RateDen: 1, Noise: clipGrain, Seed: 1,
	}
	from, to, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("bench: make a clip: %w", err)
	}
	defer from.Close()
	drawn := make(chan error, 1)
	go func() {
		defer to.Close()
		drawn <- scene.WriteY4M(to, cfg)
	}()
	name = filepath.Join(folder, size.String()+".mp4")
	_, err = measure.Encode(ctx, cpu, fmt.Sprintf("/dev/fd/%d", from.Fd()), name, encode.Options{
		Format: "mp4", CRF: 26, Preset: "veryfast", Tune: "grain", GOP: 2 * clipRate,
	})
	if err != nil {
		return "", fmt.Errorf("bench: make a clip: %w", err)
	}
	return name, <-drawn
}
