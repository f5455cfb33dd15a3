package noise

import (
	"math"

	"vidfilter/denoise/plane"
)

// Model is the noise of a frame. All of it is in 8-bit levels, for samples of any depth.
type Model struct {
	// Sigma is the standard deviation in Y, U and V. The spectrum and the curve are its details.
	Sigma [3]float64

	// Spectrum is the variance of each coefficient of an orthonormal 8x8 DCT, at [v*8+u] for the
	// frequency u across and v down. White noise of a given sigma has sigma² everywhere.
	Spectrum [3][64]float32

	// Curve is the factor of the variance of luma by the mean of a patch, in 8-bit levels: the
	// variance of a coefficient is Spectrum*Curve. It is 1 by default, and in chroma.
	Curve [256]float32

	// Sure is the confidence of the measurement, from 0 for a guess to 1. It is 1 for noise that
	// was given, and does not affect the filter.
	Sure float64

	grained [3]float64 // how far the noise in Y, U and V is grain, 0 to 1

	// Half is the noise of the picture of half the size, in which each sample is the mean of 2x2,
	// where some of it is too coarse for full size; else nil.
	Half *Half
}

// Half is noise that is removed from a picture of half the size.
type Half struct {
	Model
	Share [3]float64 // the share of the noise removed in Y, U and V, 0 to 1
}

// HalfOf returns the noise to remove at half the size from a set of planes, or nil.
func (m *Model) HalfOf(planes [3]bool) *Half {
	if m.Half == nil || m.Half.Clean() {
		return nil
	}
	for c, has := range planes {
		if has && m.Half.ShareOf(c) > 0 {
			return m.Half
		}
	}
	return nil
}

// ShareOf returns the share of a plane as [plane.Plane.Replace] takes it.
func (h *Half) ShareOf(c int) int { return int(math.Round(h.Share[c] * (1 << plane.ShareBits))) }

// grainLead is the sigma that takes grain out, in the grain's own: it differs from place to place,
// and a mean over all places would leave stronger grain.
const grainLead = 1.4

// Led returns the model that the filter goes by.
func (m Model) Led() Model {
	for c, grain := range m.grained {
		m.ScalePlane(c, 1+(grainLead-1)*grain)
	}
	m.grained = [3]float64{}
	return m
}

// cleanSigma is the luma noise below which removing it harms more than it helps: rounding to 8 bits
// alone is noise of sigma 0.29, and the texture of clean clips reads up to twice that.
const cleanSigma = 0.8

// Flat returns the model of white noise, alike in all planes and at every brightness.
func Flat(sigma float64) Model {
	var m Model
	for c := range m.Sigma {
		m.flatten(c, sigma)
	}
	m.flattenCurve()
	m.Sure = 1
	return m
}

// coarseShare is the sigma of the lowest frequencies for which noise is as bad as white noise of 1.
const coarseShare = 1.5

// Clean reports whether the frame should be left as it is.
func (m Model) Clean() bool { return m.Faint() && m.Half == nil }

// Faint reports whether only the half's noise should be removed.
func (m Model) Faint() bool { return max(m.Sigma[0], m.coarse()/coarseShare) < cleanSigma }

// coarse returns the sigma of the lowest frequencies of luma.
func (m *Model) coarse() float64 {
	s := m.Spectrum[0]
	return math.Sqrt(float64(s[1]+s[2]+s[8]+s[9]+s[16]) / 5)
}

// Coarse reports whether luma's grains are larger than a sample.
func (m Model) Coarse() bool { return m.correlation() > 2.5 }

// Scale returns the model of noise with strength times the standard deviation.
func (m Model) Scale(strength float64) Model {
	if m.Half != nil {
		m.Half = &Half{m.Half.Model.Scale(strength), m.Half.Share}
	}
	for c := range m.Sigma {
		m.ScalePlane(c, strength)
	}
	return m
}

// ScalePlane multiplies the standard deviation of one plane.
func (m *Model) ScalePlane(c int, by float64) {
	m.Sigma[c] *= by
	for k := range m.Spectrum[c] {
		m.Spectrum[c][k] *= float32(by * by)
	}
}

// CurveOf returns the curve of a plane.
func (m *Model) CurveOf(c int) [256]float32 {
	if c > 0 {
		var flat Model
		flat.flattenCurve()
		return flat.Curve
	}
	return m.Curve
}

// flatten makes the noise of a plane white.
func (m *Model) flatten(c int, sigma float64) {
	m.Sigma[c] = sigma
	for k := range m.Spectrum[c] {
		m.Spectrum[c][k] = float32(sigma * sigma)
	}
}

func (m *Model) flattenCurve() {
	for i := range m.Curve {
		m.Curve[i] = 1
	}
}
