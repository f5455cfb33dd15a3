package noise

import "math"

// histogram holds the energies of blocks, a block's energy being the mean variance that it shows.
// Histograms add up, from pairs to a window or a clip, at no cost in memory. Within a bin, counts
// and sums are taken as spread evenly.
type histogram struct {
	zeros int // energies below least
	n     int // the others
	count [bins]int32
	sum   [bins]float64
}

const (
	least     = 1.0 / 64 // energies below are not measured: a copy, or a flat area
	perOctave = 8        // bins
	octaves   = 20
	bins      = perOctave * octaves

	mantissa  = 23 - 3 // the bits of a float32 below those that number the bins of an octave
	firstBits = (127 - 6) << 3
)

// binOf returns the bin of an energy of at least least.
func binOf(energy float32) int {
	return min(int(math.Float32bits(energy)>>mantissa)-firstBits, bins-1)
}

// floorOf returns the least energy of a bin.
func floorOf(bin int) float64 {
	return float64(math.Float32frombits(uint32(bin+firstBits) << mantissa))
}

// add counts an energy and returns its bin, or -1 if it is below least.
func (h *histogram) add(energy float32) int {
	if energy < least {
		h.zeros++
		return -1
	}
	b := binOf(energy)
	h.n++
	h.count[b]++
	h.sum[b] += float64(energy)
	return b
}

func (h *histogram) merge(g *histogram) {
	h.zeros += g.zeros
	h.n += g.n
	for b := range h.count {
		h.count[b] += g.count[b]
		h.sum[b] += g.sum[b]
	}
}

// mergeScaled adds the energies of another histogram, each times a factor.
func (h *histogram) mergeScaled(g *histogram, factor float64) {
	h.zeros += g.zeros
	for b, n := range g.count {
		if n == 0 {
			continue
		}
		sum := g.sum[b] * factor
		if mean := sum / float64(n); mean >= least {
			to := binOf(float32(mean))
			h.n += int(n)
			h.count[to] += n
			h.sum[to] += sum
		} else {
			h.zeros += int(n)
		}
	}
}

// quantile returns the energy below which a part of all energies lies.
func (h *histogram) quantile(part float64) float64 {
	return h.rank(part*float64(h.zeros+h.n) - float64(h.zeros))
}

// rank returns the energy of a rank, not counting zeros.
func (h *histogram) rank(below float64) float64 {
	if below <= 0 {
		return 0
	}
	for b, n := range h.count {
		if below < float64(n) {
			low, high := floorOf(b), floorOf(b+1)
			return low + (high-low)*below/float64(n)
		}
		below -= float64(n)
	}
	return 0
}

// meanBelow returns the mean of the energies below a limit, and how many they are.
func (h *histogram) meanBelow(limit float64) (mean, n float64) {
	sum := 0.0
	for b := range h.count {
		low, high := floorOf(b), floorOf(b+1)
		part := 1.0
		if limit < high {
			part = max(0, (limit-low)/(high-low))
		}
		if part < 1 && h.count[b] > 0 {
			k := part * float64(h.count[b])
			// The mean of the lower part of a bin is as far below the bin's as its middle is.
			m := h.sum[b]/float64(h.count[b]) - (1-part)*(high-low)/2
			return (sum + k*max(m, low)) / max(n+k, 1), n + k
		}
		if low >= limit {
			break
		}
		sum += h.sum[b]
		n += float64(h.count[b])
	}
	return sum / max(n, 1), n
}

// mode describes energies that are noise alone, relative to their mean: a part of them lies below
// start, and almost no energy above cut.
type mode struct{ part, start, cut float64 }

// widened returns the mode for energies of a given relative deviation, at least white noise's:
// fewer frequencies share the variance of coarse grain.
func (m mode) widened(deviation float64) mode {
	by := min(max(deviation/whiteDeviation, 1), mostWidened)
	return mode{m.part, 1 - (1-m.start)*by, 1 + (m.cut-1)*by}
}

const (
	whiteDeviation = 0.178 // root of 2/63
	mostWidened    = 2.5
	fewest         = 8 // energies, to speak of a mode
)

// low returns the mean of the lowest cluster of energies: of blocks with noise only, if there are
// such blocks. It returns -1 for too few energies.
func (h *histogram) low(m mode) float64 {
	if h.n < fewest {
		return -1
	}
	s := h.rank(math.Floor(m.part*float64(h.n))+0.5) / m.start
	for range 8 {
		mean, n := h.meanBelow(m.cut * s)
		if n < fewest/2 {
			break
		}
		s = mean
	}
	return s
}
