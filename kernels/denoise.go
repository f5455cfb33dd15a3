package kernels

import (
	"vidfilter/denoise"
	"vidfilter/pipeline"
)

// Denoiser is the denoise filter on any device.
type Denoiser struct {
	*denoise.Filter
	auto denoise.Tier
}

// NewDenoiser returns the filter by an engine. auto is the tier of automatic quality.
func NewDenoiser(e denoise.Engine, pool *pipeline.Pool, p Params, auto denoise.Tier) *Denoiser {
	return &Denoiser{denoise.NewFilter(e, pool, p.denoising(auto)), auto}
}

// Retune changes the options of a causal filter for the frames to come.
func (d *Denoiser) Retune(p Params) { d.Filter.Retune(p.denoising(d.auto)) }

// tier returns the tier of the denoiser: auto, unless another is asked for.
func (p Params) tier(auto denoise.Tier) denoise.Tier {
	switch p.Quality {
	case Fast:
		return denoise.Fast
	case Good:
		return denoise.Good
	case Best:
		return denoise.Best
	}
	return auto
}

// denoising returns the denoiser's settings.
func (p Params) denoising(auto denoise.Tier) denoise.Options {
	s := denoise.Default(p.tier(auto))
	s.Strength, s.Grain, s.LumaOnly = p.Strength, p.Grain, p.LumaOnly
	if p.Causal {
		s.Ahead = 0
	}
	return denoise.Options{Settings: s, Sigma: p.Noise}
}
