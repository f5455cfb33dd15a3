package testdriver

import (
	"math/rand/v2"
	"testing"
)

// Matrices loaded from shared memory are multiplied correctly. All numbers are integers small
// enough for exact results: half the range for the product in halves.
func TestMatrices(t *testing.T) {
	c := startAnywhere(t, "order=3")
	for _, m := range []struct {
		name    string
		what, k int
		limit   int
		start   [2]int // of D at even and odd columns; rows from 8 on have 2 more
	}{
		{"mma_k8_half", 0, 8, 15, [2]int{}},
		{"mma_k8_float", 1, 8, 1000, [2]int{}},
		{"mma_k8_add", 2, 8, 1000, [2]int{1, 2}},
		{"mma_k16_add", 3, 16, 1000, [2]int{1, 2}},
	} {
		r := rand.New(rand.NewPCG(5, uint64(m.what)))
		a, b := randomMatrix(r, 16, m.k, m.limit), randomMatrix(r, m.k, 8, m.limit)
		words := 128
		if m.what == 0 {
			words = 64
		}
		got := c.mustRun(run{kernel: "matrix", threads: 32, compute: 80, grid: [2]int{1, 1}, block: [2]int{32, 1}, shared: 1024,
			in: append(halves(a), halves(b)...), out: words, what: m.what})
		for i := range 128 {
			row, column := i/8, i%8
			want := m.start[column%2]
			if m.start[0] > 0 && row >= 8 {
				want += 2
			}
			for k := range m.k {
				want += a[row*m.k+k] * b[8*k+column]
			}
			value := float64(number(got[i%words]))
			if m.what == 0 {
				value = halfValue(uint16(got[i/2] >> (16 * (i % 2))))
			}
			if value != float64(want) {
				t.Errorf("%s, row %d, column %d: got %g, want %d", m.name, row, column, value, want)
				break
			}
		}
	}
}

func randomMatrix(r *rand.Rand, rows, columns, limit int) []int {
	m := make([]int, rows*columns)
	for i := range m {
		m[i] = r.IntN(2*limit+1) - limit
	}
	return m
}

func halves(m []int) (words []uint32) {
	for i := 0; i < len(m); i += 2 {
		low, high := halfOf(exact(float64(m[i]))), halfOf(exact(float64(m[i+1])))
		words = append(words, uint32(low)|uint32(high)<<16)
	}
	return words
}
