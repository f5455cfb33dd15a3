package fusion

import (
	"math"
	"sync"

	"vidfilter/denoise/plane"
)

// Sums holds, for each sample of a plane, the sums of the weights of the patches that cover it and
// of their weighted values. Both are integers, so that the order of the patches does not matter:
// weights in units of the pass, values in 8-bit levels from the middle one.
type Sums struct {
	Width, Height int
	weights       []int64
	values        []int64
	mu            sync.Mutex
}

const middle = 128 // values are kept small, so that 32 bits hold a sum

func newSums(p plane.Plane) *Sums {
	n := p.Width * p.Height
	return &Sums{
		Width: p.Width, Height: p.Height,
		weights: make([]int64, n), values: make([]int64, n),
	}
}

// add adds a sample of a patch.
func (s *Sums) add(x, y int, weight int64, value float32) {
	i := y*s.Width + x
	s.weights[i] += weight
	s.values[i] += int64(rint(float32(weight) * (value - middle)))
}

// addStrip adds the sums of a strip of patches whose first row is row y.
func (s *Sums) addStrip(y int, strip *Sums) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range strip.weights {
		s.weights[y*s.Width+i] += strip.weights[i]
		s.values[y*s.Width+i] += strip.values[i]
	}
}

// Mean is the weighted mean at a sample, in 8-bit levels, not rounded.
func (s *Sums) Mean(x, y int) float32 {
	i := y*s.Width + x
	return middle + float32(s.values[i])/float32(s.weights[i])
}

// Plane returns the means as samples.
func (s *Sums) Plane(depth int) plane.Plane {
	out := plane.New(s.Width, s.Height, depth)
	for y := range s.Height {
		for x, row := 0, out.Row(y); x < s.Width; x++ {
			row[x] = Sample(s.Mean(x, y), 0.5, out)
		}
	}
	return out
}

// Sample makes a value in 8-bit levels a sample of a plane like p: rounding is added, and the
// fraction cut off.
func Sample(value, rounding float32, p plane.Plane) uint16 {
	v := math.Floor(float64(value*float32(p.Unit()) + rounding))
	return uint16(min(max(v, 0), float64(p.Max())))
}

func rint(v float32) float32 { return float32(math.RoundToEven(float64(v))) }
