package fusion

import "math"

// Noise is one plane's noise, in 8-bit levels.
type Noise struct {
	Sigma    float32
	Spectrum [64]float32  // variance of a coefficient of 8x8, at [v*8+u]
	Curve    [256]float32 // factor of the variance by the mean of the patch
}

// These keep divisions finite in a plane without noise.
const (
	leastVariance = 1e-3
	leastSigma    = 0.03
)

// Variances are the n*n coefficients' before the curve.
func (m *Noise) Variances(n int) []float32 {
	out := make([]float32, n*n)
	for v := range n {
		for u := range n {
			out[v*n+u] = max(m.Spectrum[v*8/n*8+u*8/n], leastVariance)
		}
	}
	return out
}

// The noise of samples that are cut off at white is less: by clippedLeast where half of them are.
const (
	white        = 255
	clippedLeast = 0.34 // variance of a Gaussian cut off at its mean
	clippedFrom  = 0.4  // sigmas from white: all of the cut is felt
	clippedTo    = 2.0  // none is
)

// Factor is the factor of the variance in a patch of a given mean.
func (m *Noise) Factor(mean float32, clipCurve bool) float32 {
	factor := m.Curve[min(max(int(mean), 0), 255)]
	if clipCurve {
		z := (white - mean) / max(m.Sigma, leastSigma)
		open := min(max((z-clippedFrom)/(clippedTo-clippedFrom), 0), 1)
		factor *= clippedLeast + (1-clippedLeast)*open
	}
	return factor
}

func exp(x float32) float32  { return float32(math.Exp(float64(x))) }
func log2(x float32) float32 { return float32(math.Log2(float64(x))) }
