package deflicker

import (
	"math"
	"slices"
)

const (
	fewest     = 6     // pictures in a curve
	leastShown = 0.004 // relative flicker below which pictures stay unchanged
	certain    = 4     // standard errors that significant flicker exceeds
	sweeping   = 0.22  // of a sweep: flicker below this is the camera's

	mostGain, mostPart = 1.5, 0.15 // limits of a correction
)

// correction is a change of brightness of one picture.
type correction struct {
	gain  float64
	parts parts
}

// The zero correction changes no sample.
var unchanged = correction{gain: 1}

// steady returns the correction for a picture. changes[k] is the change from picture k-1 to k.
func steady(changes []*change, picture int) correction {
	from, to := picture, picture
	for from > 0 && picture-from < ahead && !changes[from].cut {
		from--
	}
	for to+1 < len(changes) && to-picture < ahead && !changes[to+1].cut {
		to++
	}
	if to-from+1 < fewest {
		return unchanged
	}
	links := changes[from+1 : to+1]
	errs := make([]float64, len(links))
	for i, l := range links {
		errs[i] = l.err
	}
	least := max(leastShown, certain*median(errs), sweeping*sweep(links))
	own := picture - from
	c := correction{gain: limited(steadied(curve(links, own, func(v float64, l *change, sign int) float64 {
		if sign < 0 {
			return v / l.gain
		}
		return v * l.gain
	}), own, least), mostGain-1)}
	for i := range c.parts {
		c.parts[i] = limited(steadied(curve(links, own, func(v float64, l *change, sign int) float64 {
			return v + float64(sign)*l.parts[i]
		}), own, 2*least), mostPart) - 1
	}
	return c
}

// sweep returns the lasting change across the picture, as the deviation over its areas. A lens that
// darkens the corners causes it while the camera pans. The camera's shake then looks like flicker.
func sweep(links []*change) float64 {
	squares := 0.0
	all := make([]float64, len(links))
	for i := range areas * areas {
		for k, l := range links {
			all[k] = l.parts[i]
		}
		m := median(all)
		squares += m * m
	}
	return math.Sqrt(squares / (areas * areas))
}

// limited limits a factor to 1+most and its inverse.
func limited(x, most float64) float64 { return min(max(x, 1/(1+most)), 1+most) }

// curve accumulates changes into a curve that is 1 at picture own. step applies a link to a value,
// or its inverse if sign is -1.
func curve(links []*change, own int, step func(v float64, l *change, sign int) float64) []float64 {
	all := make([]float64, len(links)+1)
	all[own] = 1
	for k := own - 1; k >= 0; k-- {
		all[k] = step(all[k+1], links[k], -1)
	}
	for k := own + 1; k < len(all); k++ {
		all[k] = step(all[k-1], links[k-1], 1)
	}
	return all
}

// steadied returns the value of a curve at own without flicker. curve[own] is 1. Flicker below
// least stays, and flicker above twice least is removed in full.
func steadied(curve []float64, own int, least float64) float64 {
	bends, off := flicker(curve)
	part := min(min(bends, off)/least-1, 1)
	if part <= 0 {
		return 1
	}
	return 1 + (trend(curve, own, min(max(10*bends, 0.1), 0.6))-1)*part
}

// flicker returns two robust estimates of the standard deviation of a curve, relative to its
// median. bends uses second differences and ignores slopes. off uses distances from the median and
// ignores a few flashes.
func flicker(curve []float64) (bends, off float64) {
	middle := median(slices.Clone(curve))
	var bent, distance []float64
	for k, v := range curve {
		distance = append(distance, math.Abs(v-middle))
		if k > 0 && k < len(curve)-1 {
			bent = append(bent, math.Abs(curve[k-1]-2*v+curve[k+1]))
		}
	}
	const ofMedian = 1.48 // standard deviation per median absolute deviation, normal distribution
	return ofMedian / math.Sqrt(6) * median(bent) / middle, ofMedian * median(distance) / middle
}

// median returns the median of values. It sorts them in place.
func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// trend returns the value at own of a line fitted to the curve. The fit is iterated, starting with
// weight on the values close to curve[own], and ignores values further than limit from the result.
func trend(curve []float64, own int, limit float64) float64 {
	at := curve[own]
	weights := make([]float64, len(curve))
	for range 4 {
		var sum, k1, k2, v1, kv float64
		for k, v := range curve {
			e := min((v-at)*(v-at)/(limit*limit), 1)
			if k == own {
				e = 0
			}
			w, d := (1-e)*(1-e), float64(k-own)
			weights[k] = w
			sum, k1, k2, v1, kv = sum+w, k1+w*d, k2+w*d*d, v1+w*v, kv+w*d*v
		}
		middle, mean := k1/sum, v1/sum
		at = mean
		wide := k2 - k1*middle
		if wide <= 0 {
			continue
		}
		slope, rest := (kv-k1*mean)/wide, 0.0
		for k, v := range curve {
			r := v - mean - slope*(float64(k-own)-middle)
			rest += weights[k] * r * r
		}
		if slope != 0 { // shrinks a slope to 0 within twice its error, and keeps a steep one
			slope *= max(0, 1-4*rest/(sum*wide*slope*slope))
		}
		at -= slope * middle
	}
	return at
}
