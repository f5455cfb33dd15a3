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

// Window is how many frames the filter reads before and after each. It does not depend on the
// device: both tiers of automatic quality read as many.
func (p Params) Window() (before, after int) {
	if p.Filter != Denoise {
		return 0, 0
	}
	return p.denoising(denoise.Good).Window()
}

// denoising returns the denoiser's settings.
func (p Params) denoising(auto denoise.Tier) denoise.Options {
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
