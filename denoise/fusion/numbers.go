package fusion

// Variances are those of the n*n coefficients, at [v*n+u], where the mean is of no influence.
func (m *Noise) Variances(n int) []float32 { return m.variances(n) }

// Window is the weight of the samples of a patch of side n, by their place.
func Window(n int) []float32 {
	t := dct8
	if n == dct16.n {
		t = dct16
	}
	return newPass(Input{}, Constants{}, t).window
}
