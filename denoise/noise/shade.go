package noise

import (
	"math"
	"slices"

	"vidfilter/internal/linear"
)

// Shade is a change of brightness that varies smoothly over the picture, as the flicker of film
// does: a gain, which is a cubic polynomial of the place, and an offset. The gain is limited to 1.5
// and its inverse.
type Shade struct {
	Gains  [terms]float64 // factors of x^i y^j with i+j <= 3, by j and i, from -1 to 1 at the edges
	Offset float64        // added to luma, in 8-bit levels
}

const (
	cubic = 3
	terms = (cubic + 1) * (cubic + 2) / 2

	rounds = 5   // of the fit
	tooFar = 3.0 // deviations from which a sample does not count

	// Expected deviations, which matter where the picture is too flat for the fit.
	usualOffset, usualGain, usualShape = 5, 0.2, 0.05
)

// Row is the gain along a row of the picture: the factors of the powers of x, from -1 at the left
// edge to 1 at the right.
type Row [cubic + 1]float64

// Row returns the gain along a row at y, from -1 at the top of the picture to 1 at the bottom.
func (s *Shade) Row(y float64) (row Row) {
	k, power := 0, 1.0
	for j := range cubic + 1 {
		for i := range cubic + 1 - j {
			row[i] += float64(s.Gains[k] * power)
			k++
		}
		power *= y
	}
	return row
}

// At returns the gain at x.
func (r *Row) At(x float64) float64 {
	gain := r[cubic]
	for i := cubic - 1; i >= 0; i-- {
		gain = float64(gain*x) + r[i]
	}
	return min(max(gain, 1/mostGain), mostGain)
}

// mix returns a part of the change, from 0 to 1, and for the rest a gain alike everywhere.
func (s Shade) mix(gain, part float64) Shade {
	s.Offset *= part
	for k := range s.Gains {
		s.Gains[k] *= part
	}
	s.Gains[0] += gain * (1 - part)
	return s
}

// equation is a sample of a thumb, above black, times each term of a gain. The last factor is the
// offset's.
type equation [terms + 1]float64

// equations returns the equations of a thumb.
func (l *Lights) equations(thumb level) []equation {
	all := make([]equation, len(thumb.pix))
	for i, v := range thumb.pix {
		x, y := Place(i%thumb.w, thumb.w), Place(i/thumb.w, thumb.h)
		k, across := 0, float64(v)-l.Black
		for j := range cubic + 1 {
			power := across
			for range cubic + 1 - j {
				all[i][k] = power
				power *= x
				k++
			}
			across *= y
		}
		all[i][terms] = 1
	}
	return all
}

// Place is where sample i of n lies, from -1 to 1.
func Place(i, n int) float64 { return float64(2*i+1)/float64(n) - 1 }

// fit returns the shade that gives a thumb the given brightness, by least squares. It starts with
// the median of the ratios. Parts that have moved differ most and do not count.
func fit(all []equation, want []float64) Shade {
	ratios := make([]float64, len(all))
	for i := range all {
		ratios[i] = max(want[i], 1) / max(all[i][0], 1)
	}
	gain := min(max(median(ratios), 1/mostGain), mostGain)
	s := Shade{Gains: [terms]float64{gain}}
	for range rounds {
		rest := s.rest(all, want)
		s.solve(all, want, rest, 1.48*median(slices.Clone(rest))+0.1, gain)
	}
	return s
}

// rest returns the differences that a shade leaves.
func (s *Shade) rest(all []equation, want []float64) []float64 {
	rest := make([]float64, len(all))
	for i := range all {
		sum := s.Offset - want[i]
		for k, g := range s.Gains {
			sum += float64(g * all[i][k])
		}
		rest[i] = math.Abs(sum)
	}
	return rest
}

// solve sets the shade with the least squares, given what the last one left and its deviation.
func (s *Shade) solve(all []equation, want, rest []float64, deviation, gain float64) {
	m, right := make([][]float64, terms+1), make([]float64, terms+1)
	for k := range m {
		m[k] = make([]float64, terms+1)
	}
	for i := range all {
		e := min(rest[i]/(tooFar*deviation), 1)
		weight := (1 - float64(e*e)) * (1 - float64(e*e))
		if weight == 0 {
			continue
		}
		off := want[i] - float64(gain*all[i][0])
		for j, a := range all[i] {
			a *= weight
			right[j] += float64(a * off)
			for k, b := range all[i][:j+1] {
				m[j][k] += float64(a * b)
			}
		}
	}
	for j := range m {
		usual := usualShape
		switch j {
		case 0:
			usual = usualGain
		case terms:
			usual = usualOffset
		}
		m[j][j] += deviation * deviation / (usual * usual)
		for k := range j {
			m[k][j] = m[j][k]
		}
	}
	x := linear.Solve(m, right)
	copy(s.Gains[:], x)
	s.Gains[0] += gain
	s.Offset = x[terms]
}
