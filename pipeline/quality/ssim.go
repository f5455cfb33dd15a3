package quality

// SSIM after Wang, Bovik, Sheikh, Simoncelli: "Image Quality Assessment: From Error Visibility to
// Structural Similarity", IEEE Transactions on Image Processing 13(4), 2004, equation 13, in the
// variant of x264 and ffmpeg, whose figures are the usual ones:
//
//   - Windows are flat 8x8 squares, one every 4 samples each way, rather than a Gaussian of 11x11
//     at each sample. Fewer than 4 samples left over at the right and bottom are in no window.
//   - With integer sums over the n samples of a window in place of means, variance and covariance
//     are the sample's (n-1), and the constant of the luminance term is (0.01*255)^2*n where the
//     formula has n^2: a 64th, which matters in dark windows only. Deeper samples have their
//     largest one in place of 255.
//
// A plane less than 8 samples wide or high, for which ffmpeg has no figure, has windows of its own
// width or height that way, with the constants of as many samples. For a single sample, which has
// no variance, only the luminance is compared.
const (
	windowSize = 8
	blockSize  = 4 // windows overlap: sums are taken over 4x4 blocks once, and added up by fours
)

// sums is all that SSIM needs of some samples a and b.
type sums[N number] struct {
	a, b    N
	squares N // of both
	product N
}

// constants are the constants of similarity for windows of n samples of 0 to most.
func constants(n int64, most float64) (c1, c2 int64) {
	unit := most * most * 1e-4
	return int64(1*unit*float64(n) + 0.5), int64(9*unit*float64(n*max(n-1, 1)) + 0.5)
}

// similarity returns the SSIM of a window of n samples, at most 64.
func similarity[N number](s sums[N], n, c1, c2 int64) float64 {
	a, b := int64(s.a), int64(s.b)
	means, squares := a*b, a*a+b*b
	variances := n*int64(s.squares) - squares
	covariance := n*int64(s.product) - means
	return float64(2*means+c1) * float64(2*covariance+c2) / (float64(squares+c1) * float64(variances+c2))
}

// similarityRow adds up the SSIM of the 8x8 windows over two rows of blocks.
func similarityRow[N number](above, below []sums[N], most float64) (sum float64) {
	const n = windowSize * windowSize
	c1, c2 := constants(n, most)
	below = below[:len(above)]
	left := add(above[0], below[0])
	for i := 1; i < len(above); i++ {
		right := add(above[i], below[i])
		sum += similarity(add(left, right), n, c1, c2)
		left = right
	}
	return sum
}

func add[N number](s, t sums[N]) sums[N] {
	return sums[N]{s.a + t.a, s.b + t.b, s.squares + t.squares, s.product + t.product}
}

// blockRow sums the samples of row y of blocks, and returns the squared differences of those rows,
// with the columns that are in no block.
func (s *scratch[T, N]) blockRow(dst []sums[N], a, b view, y int) (n uint64) {
	clear(dst)
	for r := range blockSize {
		p, q := s.row(a, y*blockSize+r, s.a[r]), s.row(b, y*blockSize+r, s.b[r])
		addRow(dst, p, q)
		n += squares[T, N](p, q)
	}
	return n
}

// addRow adds one row of samples to the blocks that it passes.
func addRow[T sample, N number](dst []sums[N], a, b []T) {
	a, b = a[:len(dst)*blockSize], b[:len(dst)*blockSize]
	for i := range dst {
		p, q := (*[blockSize]T)(a[i*blockSize:]), (*[blockSize]T)(b[i*blockSize:])
		p0, p1, p2, p3 := N(p[0]), N(p[1]), N(p[2]), N(p[3])
		q0, q1, q2, q3 := N(q[0]), N(q[1]), N(q[2]), N(q[3])
		d := &dst[i]
		d.a += p0 + p1 + p2 + p3
		d.b += q0 + q1 + q2 + q3
		d.squares += p0*p0 + p1*p1 + p2*p2 + p3*p3 + q0*q0 + q1*q1 + q2*q2 + q3*q3
		d.product += p0*q0 + p1*q1 + p2*q2 + p3*q3
	}
}

// similaritySmall adds up the windows of a plane that is too small for whole ones.
func (s *scratch[T, N]) similaritySmall(a, b view) (sum float64, windows int) {
	w, h := min(a.w, windowSize), min(a.h, windowSize)
	c1, c2 := constants(int64(w*h), a.most())
	for y := 0; y+h <= a.h; y += blockSize {
		var rowsA, rowsB [windowSize][]T
		for r := range h {
			rowsA[r], rowsB[r] = s.row(a, y+r, s.a[r]), s.row(b, y+r, s.b[r])
		}
		for x := 0; x+w <= a.w; x += blockSize {
			var t sums[N]
			for r := range h {
				for i, p := range rowsA[r][x : x+w] {
					p, q := N(p), N(rowsB[r][x+i])
					t = add(t, sums[N]{p, q, p*p + q*q, p * q})
				}
			}
			sum += similarity(t, int64(w*h), c1, c2)
			windows++
		}
	}
	return sum, windows
}
