package denoise

import (
	"iter"
	"math"

	"vidfilter/denoise/fusion"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/noise"
)

// Tier is a choice between speed and quality.
type Tier int

const (
	Fast Tier = iota // one pass, cells of 16x16
	Good             // two passes
	Best             // two passes, the second with frames further away
)

// Settings are the constants of a tier, and the user's choices.
type Settings struct {
	Strength     float64 // multiplies the sigma of the noise
	Luma, Chroma float64 // multiply it in these planes alone; 0 leaves them as they are
	Grain        float64 // the part of the removed noise that is put back, 0 to 1

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
		Strength: 1, Luma: 1, Chroma: 1,
		Near: 3, Far: 3, Ahead: 3,
		HalfNear: 3,
		Motion: motion.Constants{
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
		s.First.Stride = 5
		s.First.Threshold = 1.35
	case Best:
		s.Far, s.Ahead, s.Runs = 6, 6, 3
	}
	return s
}

// TemporalOnly averages frames without shrinking: the gain of the last pass is 1, and the pilot
// only guides its weights.
func (s Settings) TemporalOnly() Settings {
	if s.TwoPasses {
		s.Second.NoiseShare, s.Second.Blend.Most = 0, 0
	} else {
		s.First.LeastGain = 1
	}
	return s
}

// SpatialOnly has each frame filtered by itself.
func (s Settings) SpatialOnly() Settings {
	s.Near, s.Far, s.Runs = 0, 0, 0
	return s
}

// flickering returns the settings for a scene that flickers so far, from 0 to 1. Frames of one
// brightness still differ by place and contrast: vectors must save more, and patches may differ
// more.
func (s Settings) flickering(part float64) Settings {
	const penalty, fade = 12, 3
	if part > 0 {
		s.Motion.Penalty *= math.Pow(penalty, part)
		s.Motion.RefinePenalty *= math.Pow(penalty, part)
		s.First.PatchFade *= float32(math.Pow(fade, part))
		s.First.Frequency /= float32(math.Pow(fade, part))
	}
	return s
}

// Planes is a set of the planes of a picture.
type Planes [3]bool

// Filtered returns which of a picture's first n planes are filtered, given its noise scaled by
// Strength.
func (s Settings) Filtered(m *noise.Model, n int) (all Planes) {
	for c := range n {
		all[c] = !m.Clean() && s.ofPlane(c) > 0 && m.Sigma[c] > 0
	}
	return all
}

func (s Settings) ofPlane(c int) float64 {
	if c == 0 {
		return s.Luma
	}
	return s.Chroma
}

// Pilots returns which planes the first pass filters. The refinement reads luma's pilot.
func (s Settings) Pilots(filtered Planes) Planes {
	filtered[0] = filtered[0] || s.TwoPasses && filtered.Any()
	return filtered
}

// Any reports whether the set has a plane.
func (p Planes) Any() bool { return p != Planes{} }

// Each yields the planes of the set in order.
func (p Planes) Each() iter.Seq[int] {
	return func(yield func(int) bool) {
		for c, has := range p {
			if has && !yield(c) {
				return
			}
		}
	}
}

// OfPlanes returns noise scaled by Strength as the passes take it: each plane's by its own factor,
// luma as it is if it gives no more than the pilot.
func (s Settings) OfPlanes(m noise.Model) noise.Model {
	for c := range m.Sigma {
		if factor := s.ofPlane(c); factor > 0 {
			m.ScalePlane(c, factor)
		}
	}
	return m
}

// Window is how many frames a result depends on before and after its own.
func (s Settings) Window() (before, after int) { return s.Far, min(s.Far, s.Ahead) }

// Halved returns the settings for pictures of half the size: one pass will do, since its changes
// are coarse.
func (s Settings) Halved(h *noise.Half) Settings {
	if s.TwoPasses && s.Second.NoiseShare == 0 {
		s.First.LeastGain = 1
	}
	if h.ShareOf(0) == 0 {
		s.Luma = 0
	}
	s.Near = min(s.Near, s.HalfNear)
	s.TwoPasses, s.Far, s.Runs, s.First.Stride = false, s.Near, 0, 5
	return s
}
