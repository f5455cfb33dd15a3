package main

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"vidfilter/interlace"
)

const weights = interlace.Weights

// equations are the normal equations of a least-squares fit: weights times the samples around a
// missing sample give its difference from the base.
type equations struct {
	a       [weights][weights]float64 // lower triangle
	b       [weights]float64
	samples float64
	energy  float64 // sum of the squared differences
}

func (e *equations) observe(s interlace.Sample, truth int, weight float64) {
	want := weight * float64(2*truth-s.Base)
	for i, v := range s.Around {
		e.b[i] += want * float64(v)
		for j, u := range s.Around[:i+1] {
			e.a[i][j] += weight * float64(v*u)
		}
	}
	e.samples += weight
	e.energy += want * float64(2*truth-s.Base)
}

func (e *equations) add(o *equations) {
	for i := range e.b {
		e.b[i] += o.b[i]
		for j := range e.a[i] {
			e.a[i][j] += o.a[i][j]
		}
	}
	e.samples += o.samples
	e.energy += o.energy
}

type code [weights]float64

// cost returns the squared error of weights, less energy.
func (e *equations) cost(w *code) (c float64) {
	for i, wi := range w {
		row := wi * e.a[i][i]
		for j := range i {
			row += 2 * w[j] * e.a[i][j]
		}
		c += wi * (row - 2*e.b[i])
	}
	return c
}

// The ridge holds the weights of a class with few samples near the estimate of the pass before.
const (
	ridge      = 4000 // least penalty
	ridgeShare = 4    // penalty per sample
)

// solve returns the weights of the least penalised error, by Cholesky decomposition.
func (e *equations) solve() (w code) {
	penalty := ridge + ridgeShare*e.samples
	a, b := e.a, e.b
	b[weights-1] += penalty // a weight of 1
	for i := range a {
		a[i][i] += penalty
		for j := range i + 1 {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			if i == j {
				a[i][i] = math.Sqrt(sum)
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
	}
	for i := range b {
		for k := range i {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	for i := weights - 1; i >= 0; i-- {
		for k := i + 1; k < weights; k++ {
			b[i] -= a[k][i] * w[k]
		}
		w[i] = b[i] / a[i][i]
	}
	return w
}

// learnPass sets the classes and codes of a pass. The passes before must have theirs.
func learnPass(t *interlace.Tables, pass int, clips []*clip) {
	classes := make([]equations, interlace.Classes)
	var mu sync.Mutex
	for _, sigma := range []float64{0, 3, 8} {
		each(clips, func(_ int, c *clip) {
			own := observe(t, pass, c, sigma)
			mu.Lock()
			defer mu.Unlock()
			for class, e := range own {
				classes[class].add(e)
			}
		})
	}
	quantise(t, pass, classes)
}

// observe returns the equations of a clip by classes.
func observe(t *interlace.Tables, pass int, c *clip, sigma float64) map[int]*equations {
	fields, own := c.fields(sigma, t), map[int]*equations{}
	mse := 0.0
	for n := interlace.Reach; n < frames-interlace.Reach; n++ {
		mse += c.mse(n, interlace.Estimate(window(fields, n), pass)) / (frames - 2*interlace.Reach)
	}
	for n := interlace.Reach; n < frames-interlace.Reach; n++ {
		truth := c.truth[n]
		interlace.Samples(window(fields, n), pass, func(s interlace.Sample) {
			if own[s.Class] == nil {
				own[s.Class] = new(equations)
			}
			own[s.Class].observe(s, truth.At(s.X, s.Y), 20/(mse+2))
		})
	}
	return own
}

// quantise groups the classes, so that the classes of a group share a code and lose little by it:
// k-means, where the distance is the error of a code in a class. Each further group begins with the
// class that gains most by it.
func quantise(t *interlace.Tables, pass int, classes []equations) {
	var used []int
	var all equations
	for i := range classes {
		if classes[i].samples > 0 {
			used = append(used, i)
			all.add(&classes[i])
		}
	}
	best, ideal := make([]float64, len(used)), make([]float64, len(used))
	own := make([]code, len(used))
	codes := []code{all.solve()}
	for i, class := range used {
		own[i] = classes[class].solve()
		best[i], ideal[i] = classes[class].cost(&codes[0]), classes[class].cost(&own[i])
	}
	for len(codes) < interlace.Codes {
		most := 0
		for i := range used {
			if best[i]-ideal[i] > best[most]-ideal[most] {
				most = i
			}
		}
		codes = append(codes, own[most])
		for i, class := range used {
			best[i] = min(best[i], classes[class].cost(&own[most]))
		}
	}
	group := make([]int, len(used))
	sum := 0.0
	for range 25 {
		sum = 0
		groups := make([]equations, len(codes))
		for i, class := range used {
			least := math.Inf(1)
			for k := range codes {
				if c := classes[class].cost(&codes[k]); c < least {
					least, group[i] = c, k
				}
			}
			sum += least
			groups[group[i]].add(&classes[class])
		}
		for k := range codes {
			if groups[k].samples > 0 {
				codes[k] = groups[k].solve()
			}
		}
	}
	for k, w := range codes {
		for i, v := range w {
			t.Code[pass][k][i] = int16(min(max(math.Round(v*4096), math.MinInt16), math.MaxInt16))
		}
	}
	for class := range t.Class[pass] { // classes without samples share the code of the next
		i, _ := slices.BinarySearch(used, class)
		t.Class[pass][class] = uint8(group[min(i, len(used)-1)])
	}
	fmt.Printf("pass %d: %d of %d classes, mean squared error %.3f\n",
		pass+1, len(used), len(classes), (sum+all.energy)/all.samples/4)
}
