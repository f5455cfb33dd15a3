package pipeline

// Dither is the range of the pattern by which results of a depth are rounded, in their steps. Steps
// of 8 bits can be seen in smooth skies. Three quarters shorten the runs of equal samples on
// gradients by nine tenths of a whole step's effect, and cost half the error.
func Dither(depth int) float32 {
	if depth > 8 {
		return 0
	}
	return 0.75
}

// Roundings are added to a value before it is cut off to a sample, by the last three bits of its
// row and column.
type Roundings [64]float32

// Rounding returns the additions that round to samples of a depth: a half, and more or less of an
// ordered pattern (Bayer 1973), the same in each frame. A value that is a sample already stays.
func Rounding(depth int) (r Roundings) {
	for i := range r {
		x, y, order := i%8, i/8, 0
		for bit := range 3 { // neighbours are far apart in order
			order = order<<2 | (x^y)>>bit&1<<1 | y>>bit&1
		}
		r[i] = 0.5 + Dither(depth)*((float32(order)+0.5)/64-0.5)
	}
	return r
}

// At returns the addition in a row and a column.
func (r *Roundings) At(x, y int) float32 { return r[y%8*8+x%8] }
