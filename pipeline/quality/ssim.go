package quality

// SSIM after Wang, Bovik, Sheikh, Simoncelli: "Image Quality Assessment: From Error Visibility to
// Structural Similarity", IEEE Transactions on Image Processing 13(4), 2004, equation 13, in the
// variant of x264 and ffmpeg, whose figures are the usual ones:
//
//   - Windows are flat 8x8 squares, one every 4 samples each way, rather than a Gaussian of 11x11
//     at each sample. Fewer than 4 samples left over at the right and bottom are in no window.
//   - With integer sums over the n samples of a window in place of means, variance and covariance
//     are those of the sample (n-1), and the constant of the luminance term is (0.01*255)^2*n
//     where the formula has n^2: a 64th, which matters in dark windows only.
//
// A plane less than 8 samples wide or high, for which ffmpeg has no figure, has windows of its own
// width or height that way, with the constants of as many samples. For a single sample, which has
// no variance, only the luminance is compared.
const (
	windowSize = 8
	blockSize  = 4 // windows overlap: sums are taken over 4x4 blocks once, and added up by fours
)

// sums is all that SSIM needs of some samples a and b.
type sums struct {
	a, b    int32
	squares int32 // of both
	product int32
}

// similarity returns the SSIM of a window of n samples, at most 64.
func similarity(s sums, n int64) float64 {
	const unit = 255 * 255 * 1e-4
	c1 := int64(1*unit*float64(n) + 0.5)
	c2 := int64(9*unit*float64(n*max(n-1, 1)) + 0.5)
	return similarityOf(s, n, c1, c2)
}

func similarityOf(s sums, n, c1, c2 int64) float64 {
	a, b := int64(s.a), int64(s.b)
	means, squares := a*b, a*a+b*b
	variances := n*int64(s.squares) - squares
	covariance := n*int64(s.product) - means
	return float64(2*means+c1) * float64(2*covariance+c2) / (float64(squares+c1) * float64(variances+c2))
}

// similarityRow adds up the SSIM of the 8x8 windows over two rows of blocks.
func similarityRow(above, below []sums) (sum float64) {
	const n, c1, c2 = windowSize * windowSize, 416, 235963 // the constants of similarity for 64
	below = below[:len(above)]
	left := add(above[0], below[0])
	for i := 1; i < len(above); i++ {
		right := add(above[i], below[i])
		sum += similarityOf(add(left, right), n, c1, c2)
		left = right
	}
	return sum
}

func add(s, t sums) sums {
	return sums{s.a + t.a, s.b + t.b, s.squares + t.squares, s.product + t.product}
}

// blockRow sums the samples of row y of blocks, and returns the squared differences of those rows,
// with the columns that are in no block.
func (s *scratch) blockRow(dst []sums, a, b view, y int) (n uint64) {
	clear(dst)
	for r := range blockSize {
		p, q := a.row(y*blockSize+r, s.a[r]), b.row(y*blockSize+r, s.b[r])
		addRow(dst, p, q)
		n += squares(p, q)
	}
	return n
}

// addRow adds one row of samples to the blocks that it passes.
func addRow(dst []sums, a, b []byte) {
	a, b = a[:len(dst)*blockSize], b[:len(dst)*blockSize]
	for i := range dst {
		p, q := (*[blockSize]byte)(a[i*blockSize:]), (*[blockSize]byte)(b[i*blockSize:])
		p0, p1, p2, p3 := int32(p[0]), int32(p[1]), int32(p[2]), int32(p[3])
		q0, q1, q2, q3 := int32(q[0]), int32(q[1]), int32(q[2]), int32(q[3])
		d := &dst[i]
		d.a += p0 + p1 + p2 + p3
		d.b += q0 + q1 + q2 + q3
		d.squares += p0*p0 + p1*p1 + p2*p2 + p3*p3 + q0*q0 + q1*q1 + q2*q2 + q3*q3
		d.product += p0*q0 + p1*q1 + p2*q2 + p3*q3
	}
}

// similaritySmall adds up the windows of a plane that is too small for whole ones.
func (s *scratch) similaritySmall(a, b view) (sum float64, windows int) {
	w, h := min(a.w, windowSize), min(a.h, windowSize)
	for y := 0; y+h <= a.h; y += blockSize {
		var rowsA, rowsB [windowSize][]byte
		for r := range h {
			rowsA[r], rowsB[r] = a.row(y+r, s.a[r]), b.row(y+r, s.b[r])
		}
		for x := 0; x+w <= a.w; x += blockSize {
			var t sums
			for r := range h {
				for i, p := range rowsA[r][x : x+w] {
					p, q := int32(p), int32(rowsB[r][x+i])
					t = add(t, sums{p, q, p*p + q*q, p * q})
				}
			}
			sum += similarity(t, int64(w*h))
			windows++
		}
	}
	return sum, windows
}
