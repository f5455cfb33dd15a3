package kernels

import (
	"errors"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/pipeline"
)

// Quality is a tier of the denoiser.
type Quality uint8

// The tiers.
const (
	AutoQuality Quality = iota // good on a GPU; on the CPU fast, unless a job finds time for good
	Fast
	Good
	Best
)

var qualityNames = []string{"auto", "fast", "good", "best"}

func (q Quality) String() string { return name(qualityNames, uint8(q)) }

// Denoise is the spatio-temporal denoiser: see package denoise. Its rows of the table give the
// unit, range and default of each field.
type Denoise struct {
	Strength, Luma, Chroma, Grain, Noise float64
	Quality                              Quality
	TemporalOnly, SpatialOnly            bool

	// Not options of the table:
	Known     *noise.Model // the noise, if it was measured elsewhere; Noise is then 0
	Causal    bool         // no frame waits for later ones: a need of live
	LookAhead int          // frames that a causal filter may wait for
	Depth     int          // least bits of the results: a need of the encoder
}

var denoiseFilter = &FilterType{Name: "denoise", Place: PlaceMain, Zero: Denoise{}, Options: []Option{
	{
		Name: "strength", Title: "Strength", Basic: true, Help: "1 takes out the measured noise, more smooths more",
		Domain:  Domain{Min: 0.5, Max: 2, Default: 1, Main: true},
		Binding: Bind(func(p *Denoise) *float64 { return &p.Strength }),
	},
	{
		Name: "luma", Title: "Luma strength", Help: "times the strength in luma; 0 leaves luma as it is",
		Domain:  Domain{Max: 4, Default: 1, Slider: [2]float64{0, 2}},
		Binding: Bind(func(p *Denoise) *float64 { return &p.Luma }),
	},
	{
		Name: "chroma", Title: "Chroma strength", Help: "times the strength in chroma; 0 leaves the colours as they are",
		Domain:  Domain{Max: 4, Default: 1, Slider: [2]float64{0, 2}},
		Binding: Bind(func(p *Denoise) *float64 { return &p.Chroma }),
	},
	{
		Name: "quality", Title: "Quality", Basic: true, Kind: Name, Names: qualityNames, Help: "auto is good on GPUs and beside slow encoders, else fast",
		Binding: Bind(func(p *Denoise) *Quality { return &p.Quality }),
	},
	{
		Name: "grain", Title: "Grain", Help: "the part of the removed noise that is put back",
		Domain:  Domain{Max: 1},
		Binding: Bind(func(p *Denoise) *float64 { return &p.Grain }),
	},
	{
		Name: "temporal-only", Title: "Temporal only", Kind: Switch, Help: "average frames, without smoothing within one",
		Binding: BindSwitch(func(p *Denoise) *bool { return &p.TemporalOnly }),
	},
	{
		Name: "spatial-only", Title: "Spatial only", Rivals: []string{"temporal-only"}, Kind: Switch, Help: "filter each frame by itself",
		Binding: BindSwitch(func(p *Denoise) *bool { return &p.SpatialOnly }),
	},
	{
		Name: "noise", Title: "Noise", Unit: "8-bit levels", Help: "standard deviation; auto measures it",
		Domain:  Domain{Max: 100, Zero: "auto", Slider: [2]float64{0, 50}},
		Binding: Bind(func(p *Denoise) *float64 { return &p.Noise }),
	},
	{
		Name: "luma-only", Title: "Luma only", Rivals: []string{"chroma"}, Kind: Switch, Alias: true, Help: "the same as --chroma 0",
		Binding: Binding{
			get: func(Stage) float64 { return 0 },
			set: func(s Stage, x float64) Stage {
				p := s.(Denoise)
				if x == 1 {
					p.Chroma = 0
				}
				return p
			},
		},
	},
}, Check: func(s Stage) error {
	if p := s.(Denoise); p.TemporalOnly && p.SpatialOnly {
		return errors.New("temporal-only and spatial-only exclude each other")
	}
	return nil
}}

// DefaultDenoise returns the defaults of the denoiser.
func DefaultDenoise() Denoise { return denoiseFilter.New().(Denoise) }

func (Denoise) Filter() *FilterType          { return denoiseFilter }
func (Denoise) Takes(l pipeline.Layout) bool { return hasKernels(l) || denoise.Takes(l) }
func (Denoise) Identity() bool               { return false }

// Window implements Stage: both tiers of automatic quality read as many.
func (p Denoise) Window() pipeline.Window { return p.Denoising(denoise.Good).Reads() }

func (p Denoise) OnCPU(c *CPU, pool *pipeline.Pool) (pipeline.Filter, error) {
	return NewDenoiser(c.denoiser(), pool, p, denoise.Fast), nil
}

// Denoiser is the denoise filter on any device.
type Denoiser struct {
	*denoise.Filter
	params Denoise
	auto   denoise.Tier
}

// NewDenoiser returns the filter by an engine. auto is the tier of automatic quality.
func NewDenoiser(e denoise.Engine, pool *pipeline.Pool, p Denoise, auto denoise.Tier) *Denoiser {
	return &Denoiser{denoise.NewFilter(e, pool, p.Denoising(auto)), p, auto}
}

// NewReferenceDenoiser returns the filter by its definition in Go: slow, to check others on small
// frames.
func NewReferenceDenoiser(pool *pipeline.Pool, p Denoise) *Denoiser {
	return NewDenoiser(denoise.Plain{}, pool, p, denoise.Good)
}

// Retune changes the options of a causal filter for the frames to come. It refuses another tier or
// filter.
func (d *Denoiser) Retune(s Stage) bool {
	p, ok := s.(Denoise)
	if !ok || p.tier(d.auto) != d.params.tier(d.auto) {
		return false
	}
	d.Filter.Retune(p.Denoising(d.auto))
	return true
}

// tier returns the tier of the denoiser: auto, unless another is asked for.
func (p Denoise) tier(auto denoise.Tier) denoise.Tier {
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
func (p Denoise) Denoising(auto denoise.Tier) denoise.Options {
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
