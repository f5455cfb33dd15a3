// Package linear solves systems of linear equations.
package linear

// Solve solves a positive definite system by Gaussian elimination. It overwrites the matrix m. An
// unknown whose pivot is almost 0 becomes 0.
func Solve(m [][]float64, right []float64) []float64 {
	x := append([]float64(nil), right...)
	for i := range m {
		if m[i][i] <= 1e-12 {
			clear(m[i])
			m[i][i], x[i] = 1, 0
		}
		for j := i + 1; j < len(m); j++ {
			f := m[j][i] / m[i][i]
			for k := i; k < len(m); k++ {
				m[j][k] -= f * m[i][k]
			}
			x[j] -= f * x[i]
		}
	}
	for i := len(m) - 1; i >= 0; i-- {
		for k := i + 1; k < len(m); k++ {
			x[i] -= m[i][k] * x[k]
		}
		x[i] /= m[i][i]
	}
	return x
}
