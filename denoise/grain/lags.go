package grain

import "vidfilter/internal/linear"

const (
	lag   = 3       // of neighbours, in rows and columns
	reach = 2 * lag // columns between two of them
	taps  = 2 * lag * (lag + 1)
)

// neighbours are the places before a sample, row by row, in the order of AV1's weights.
var neighbours = func() (list [taps]struct{ x, y int }) {
	i := 0
	for y := -lag; y <= 0; y++ {
		for x := -lag; x <= lag && (y < 0 || x < 0); x++ {
			list[i].x, list[i].y = x, y
			i++
		}
	}
	return list
}()

// lags are sums of the products of two samples, by their distance in rows and columns: columns from
// -reach on.
type lags [lag + 1][2*reach + 1]struct{ sum, n float64 }

// add adds a square of samples.
func add(l *lags, row func(y int) []float32, size int) {
	for dy := range l {
		for y := range size - dy {
			a, b := row(y), row(y+dy)
			for dx := range l[dy] {
				from := reach - dx // a begins this number of columns later than b
				if dy == 0 && from > 0 {
					continue // as its opposite
				}
				sum := dot(a[max(from, 0):], b[max(-from, 0):])
				l[dy][dx].sum += float64(sum)
				l[dy][dx].n += float64(size - max(from, -from))
			}
		}
	}
}

// dot returns the sum of products where both exist.
func dot(a, b []float32) (sum float32) {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	var s [4]float32
	i := 0
	for ; i+4 <= n; i += 4 {
		s[0] += a[i] * b[i]
		s[1] += a[i+1] * b[i+1]
		s[2] += a[i+2] * b[i+2]
		s[3] += a[i+3] * b[i+3]
	}
	for ; i < n; i++ {
		sum += a[i] * b[i]
	}
	return sum + s[0] + s[1] + s[2] + s[3]
}

// at returns the covariance of samples x columns and y rows apart.
func (l *lags) at(x, y int) float64 {
	if y < 0 || y == 0 && x < 0 {
		x, y = -x, -y
	}
	e := l[y][x+reach]
	return e.sum / max(e.n, 1)
}

// coupled are the covariances of chroma, with itself and with luma.
type coupled struct {
	own    lags
	luma   struct{ sum, n float64 }
	shared [taps + 1]struct{ sum, n float64 } // of each neighbour, and of the sample, with luma at the sample
}

func (c *coupled) add(chroma, luma *[halfSide][halfSide]float32) {
	add(&c.own, func(y int) []float32 { return chroma[y][:] }, halfSide)
	for i := range c.shared {
		var dx, dy int // the sample itself comes last
		if i < taps {
			dx, dy = neighbours[i].x, neighbours[i].y
		}
		for y := -dy; y < halfSide; y++ {
			c.shared[i].sum += float64(dot(chroma[y+dy][max(dx, 0):], luma[y][max(-dx, 0):]))
			c.shared[i].n += float64(halfSide - max(dx, -dx))
		}
	}
	for y := range luma {
		c.luma.sum += float64(dot(luma[y][:], luma[y][:]))
		c.luma.n += halfSide
	}
}

// weights solves Yule and Walker's equations. It returns the weight of each neighbour, and the rest
// of the variance.
func (l *lags) weights() (w []float64, left float64) {
	m, right := l.equations()
	w = linear.Solve(m, right)
	left = l.at(0, 0)
	for i := range w {
		left -= w[i] * right[i]
	}
	return w, left
}

// equations returns the covariances' equations: the matrix, with a little more on its diagonal than
// there is, and the right side.
func (l *lags) equations() (m [][]float64, right []float64) {
	const steady = 1e-3
	for i, a := range neighbours {
		row := make([]float64, taps)
		for j, b := range neighbours {
			row[j] = l.at(a.x-b.x, a.y-b.y)
		}
		row[i] *= 1 + steady
		m = append(m, row)
		right = append(right, l.at(a.x, a.y))
	}
	return m, right
}

// weights has chroma's weights. The last one is luma's.
func (c *coupled) weights() (w []float64, left float64) {
	m, right := c.own.equations()
	last := make([]float64, taps+1)
	for i := range m {
		last[i] = c.shared[i].sum / max(c.shared[i].n, 1)
		m[i] = append(m[i], last[i])
	}
	last[taps] = c.luma.sum / max(c.luma.n, 1) * (1 + 1e-3)
	m, right = append(m, last), append(right, c.shared[taps].sum/max(c.shared[taps].n, 1))
	w = linear.Solve(m, right)
	left = c.own.at(0, 0)
	for i := range w {
		left -= w[i] * right[i]
	}
	return w, left
}
