package denoise

import (
	"vidfilter/denoise/fusion"
	"vidfilter/denoise/motion"
)

// Tier is a choice between speed and quality.
type Tier int

const (
	Fast Tier = iota // one pass, cells of 16x16
	Good             // two passes
	Best             // two passes, the second with frames further away
)

// Settings are the constants of a tier, and what a user may choose.
type Settings struct {
	Strength float64 // multiplies the sigma of the noise
	Grain    float64 // the part of what was removed that is put back, 0 to 1
	LumaOnly bool    // leave chroma as it is

	Near  int // frames each way that are searched
	Far   int // frames each way that the second pass reads: Near or more
	Ahead int // frames after at the most: 0 for a causal filter
	Runs  int // of plane.SumOf frames, which are summed up when they leave the window

	HalfNear int // as Near, for pictures of half the size

	Motion    motion.Constants
	First     fusion.FirstConstants
	Second    fusion.SecondConstants
	TwoPasses bool
	FarReach  int  // longest vector to a far frame, in half-pels for each frame of distance
	FrameGate bool // leave out neighbours that do not resemble the frame
	ClipCurve bool // count on less noise near white
}

// Default returns the settings of a tier, which docs/denoise.md explains.
func Default(tier Tier) Settings {
	s := Settings{
		Strength: 1,
		Near:     3, Far: 3, Ahead: 3,
		HalfNear: 3,
		Motion: motion.Constants{
			Cell:          8,
			Penalty:       2,   // q
			RefinePenalty: 0.6, // under Refinement
			CoarseFrom:    15,  // under Planes
		},
		First: fusion.FirstConstants{
			Constants: fusion.Constants{
				Stride:     4,
				PatchFade:  1, // h
				Frequency:  0.5,
				DCGate:     true,
				WeightUnit: 8192,
			},
			Threshold:      1.2, // lambda
			ThresholdFall:  0.15,
			LeastThreshold: 1,
		},
		Second: fusion.SecondConstants{
			Constants: fusion.Constants{
				Stride:     6,
				PatchFade:  0.3, // h
				Frequency:  1,
				DCGate:     true,
				WeightUnit: 4096,
			},
			NoiseShare: 0.8,
			Blend:      fusion.Blend{Base: 0.7, Fall: 0.04, Most: 0.5, From: 0.12, To: 0.17},
			PastReach:  2,
			PastMost:   0.2,
		},
		TwoPasses: true,
		FarReach:  4,
		FrameGate: true,
		ClipCurve: true,
	}
	switch tier {
	case Fast:
		s.TwoPasses = false
		s.HalfNear = 1
		s.Motion.Cell = 16
		s.First.Stride = 5
		s.First.Threshold = 1.35
	case Best:
		s.Far, s.Ahead, s.Runs = 6, 6, 3
	}
	return s
}

// Window is how many frames a result depends on before and after its own.
func (s Settings) Window() (before, after int) { return s.Far, min(s.Far, s.Ahead) }

// Halved returns the settings for pictures of half the size: one pass will do, for what it changes
// is coarse.
func (s Settings) Halved() Settings {
	s.Near = min(s.Near, s.HalfNear)
	s.TwoPasses, s.Far, s.First.Stride = false, s.Near, 5
	return s
}
