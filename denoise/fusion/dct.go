package fusion

import "math"

// transform is the orthonormal DCT of squares, in rows of n.
type transform struct {
	n     int
	basis []float32 // [frequency*n+place]
}

var dct8, dct16 = newTransform(8), newTransform(16)

func newTransform(n int) *transform {
	t := &transform{n, make([]float32, n*n)}
	for k := range n {
		scale := math.Sqrt(2 / float64(n))
		if k == 0 {
			scale = math.Sqrt(1 / float64(n))
		}
		for i := range n {
			angle := math.Pi * float64((2*i+1)*k) / float64(2*n)
			t.basis[k*n+i] = float32(scale * math.Cos(angle))
		}
	}
	return t
}

// forward puts the coefficients of samples into out: first down the columns, then along the rows.
// The coefficient of frequency u across and v down is at v*n+u.
func (t *transform) forward(out, samples []float32) {
	n := t.n
	var columns [16 * 16]float32
	for v := range n {
		for y := range n {
			addScaled(columns[v*n:][:n], samples[y*n:][:n], t.basis[v*n+y])
		}
	}
	for v := range n {
		row := columns[v*n:][:n]
		for u := range n {
			sum := float32(0)
			for x, b := range t.basis[u*n:][:n] {
				sum += row[x] * b
			}
			out[v*n+u] = sum
		}
	}
}

// inverse puts the samples of coefficients into out: first down the columns, then along the rows.
func (t *transform) inverse(out, coefficients []float32) {
	n := t.n
	var columns [16 * 16]float32
	for y := range n {
		for v := range n {
			addScaled(columns[y*n:][:n], coefficients[v*n:][:n], t.basis[v*n+y])
		}
	}
	clear(out)
	for y := range n {
		for u := range n {
			addScaled(out[y*n:][:n], t.basis[u*n:][:n], columns[y*n+u])
		}
	}
}

func addScaled(out, in []float32, factor float32) {
	out = out[:len(in)]
	for i, v := range in {
		out[i] += v * factor
	}
}
