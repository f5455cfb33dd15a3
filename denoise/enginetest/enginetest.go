// Package enginetest has engines of the denoiser for the tests of its forms.
package enginetest

import (
	"context"
	"slices"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/pipeline"
)

// Memory allocates from Go's memory.
type Memory struct{}

func (Memory) Alloc(n int) (pipeline.Memory, error) {
	return pipeline.Memory{Bytes: make([]byte, n), Free: func() {}}, nil
}

// Some has an engine filter only frames of the given numbers. It leaves other results as they are.
type Some struct {
	denoise.Engine
	Numbers    []int
	Interlaced bool // frames are of two pictures
	begun      int  // pictures
}

func (s *Some) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	n := s.begun
	if s.Interlaced {
		n /= 2
	}
	s.begun++
	if !slices.Contains(s.Numbers, n) {
		return nil, nil
	}
	return s.Engine.Denoise(ctx, j)
}

// WithHalf replaces the measured noise by noise at half the size and, depending on Kind, at full
// size or a quarter.
type WithHalf struct {
	denoise.Engine
	Kind int
}

func (c WithHalf) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	j.Noise = noise.Flat([]float64{0.5, 0.5, 6}[c.Kind%3])
	j.Noise.Half = &noise.Half{Model: noise.Flat(5), Share: [3]float64{float64(c.Kind % 2), 1, 0.7}}
	if c.Kind%4 < 2 {
		j.Noise.Half.Half = &noise.Half{Model: noise.Flat(4), Share: [3]float64{0, 0.6, 1}}
	}
	return c.Engine.Denoise(ctx, j)
}
