package kernels

import (
	"vidfilter/denoise"
	"vidfilter/pipeline"
)

// Denoiser is the denoise filter on any device.
type Denoiser struct {
	*denoise.Filter
	params Params
	auto   denoise.Tier
}

// NewDenoiser returns the filter by an engine. auto is the tier of automatic quality.
func NewDenoiser(e denoise.Engine, pool *pipeline.Pool, p Params, auto denoise.Tier) *Denoiser {
	return &Denoiser{denoise.NewFilter(e, pool, p.Denoising(auto)), p, auto}
}

// NewReferenceDenoiser returns the filter by its definition in Go: slow, to check others on small
// frames.
func NewReferenceDenoiser(pool *pipeline.Pool, p Params) *Denoiser {
	return NewDenoiser(denoise.Plain{}, pool, p, denoise.Good)
}

// Retune changes the options of a causal filter for the frames to come. It refuses another tier or
// filter.
func (d *Denoiser) Retune(p Params) bool {
	if p.Filter != Denoise || p.tier(d.auto) != d.params.tier(d.auto) {
		return false
	}
	d.Filter.Retune(p.Denoising(d.auto))
	return true
}

// Window is how many frames the filter reads before and after each; a part of a video begins at a
// multiple of step frames. It does not depend on the device: both tiers of automatic quality read
// as many.
func (p Params) Window() (before, after, step int) {
	if p.Filter != Denoise {
		return 0, 0, 0
	}
	return p.Denoising(denoise.Good).Reads()
}

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

// Denoising returns the denoiser's settings. auto is the tier of automatic quality.
func (p Params) Denoising(auto denoise.Tier) denoise.Options {
	s := denoise.Default(p.tier(auto))
	s.Strength, s.Luma, s.Chroma, s.Grain = p.Strength, p.Luma, p.Chroma, p.Grain
	switch {
	case p.TemporalOnly:
		s = s.TemporalOnly()
	case p.SpatialOnly:
		s = s.SpatialOnly()
	}
	if p.Causal {
		s.Ahead = p.LookAhead
	}
	return denoise.Options{Settings: s, Sigma: p.Noise, Known: p.Known, Depth: p.Depth}
}
