package kernels

import (
	"vidfilter/denoise"
)

// DenoiseOptions returns the denoiser's settings, in a given tier if the quality is automatic.
func (p Params) DenoiseOptions(auto denoise.Tier) denoise.Options {
	tier := auto
	switch p.Quality {
	case Fast:
		tier = denoise.Fast
	case Good:
		tier = denoise.Good
	case Best:
		tier = denoise.Best
	}
	s := denoise.Default(tier)
	s.Strength, s.Grain, s.LumaOnly = p.Strength, p.Grain, p.LumaOnly
	if p.Causal {
		s.Ahead = 0
	}
	return denoise.Options{Settings: s, Sigma: p.Noise}
}

func newDenoiser(*CPU) (denoise.Engine, error) { return denoise.Plain{}, nil }
