package deflicker

import (
	"math"
	"slices"
)

const (
	fewest     = 6     // pictures of a curve
	leastShown = 0.004 // flicker that is left as it is, as a part of the brightness
	certain    = 4     // standard errors of a change that flicker must reach

	mostGain, mostPart = 1.5, 0.15 // of a correction
)

// correction is how a picture's brightness is changed.
type correction struct {
	gain  float64
	parts parts
}

// none leaves a picture as it is.
var none = correction{gain: 1}

// steady returns the correction of a picture. changes[k] is the change from picture k-1 to k.
func steady(changes []*change, picture int) correction {
	from, to := picture, picture
	for from > 0 && picture-from < ahead && !changes[from].cut {
		from--
	}
	for to+1 < len(changes) && to-picture < ahead && !changes[to+1].cut {
		to++
	}
	if to-from+1 < fewest {
		return none
	}
	links := changes[from+1 : to+1]
	errs := make([]float64, len(links))
	for i, l := range links {
		errs[i] = l.err
	}
	least := max(leastShown, certain*median(errs))
	own := picture - from
	c := correction{gain: within(steadied(curve(links, own, func(v float64, l *change, sign int) float64 {
		if sign < 0 {
			return v / l.gain
		}
		return v * l.gain
	}), own, least), mostGain-1)}
	for i := range c.parts {
		c.parts[i] = within(steadied(curve(links, own, func(v float64, l *change, sign int) float64 {
			return v + float64(sign)*l.parts[i]
		}), own, 2*least), mostPart) - 1
	}
	return c
}

// within limits a factor.
func within(x, most float64) float64 { return min(max(x, 1/(1+most)), 1+most) }

// curve returns a course of pictures that is 1 at one of them; step goes along a link, back if sign
// is -1.
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

// steadied returns what a curve that is 1 at a place would be there without flicker. Flicker below
// least stays, and flicker above twice that goes.
func steadied(curve []float64, own int, least float64) float64 {
	bends, off := flicker(curve)
	part := min(min(bends, off)/least-1, 1)
	if part <= 0 {
		return 1
	}
	return 1 + (trend(curve, own, min(max(10*bends, 0.1), 0.6))-1)*part
}

// flicker returns two robust estimates of the standard deviation of a curve, as a part of its
// median: by how it bends, in which slopes do not count, and by how far it is from the median, in
// which a few flashes do not count.
func flicker(curve []float64) (bends, off float64) {
	middle := median(slices.Clone(curve))
	var bent, distance []float64
	for k, v := range curve {
		distance = append(distance, math.Abs(v-middle))
		if k > 0 && k < len(curve)-1 {
			bent = append(bent, math.Abs(curve[k-1]-2*v+curve[k+1]))
		}
	}
	const ofMedian = 1.48 // standard deviations of a normal distribution
	return ofMedian / math.Sqrt(6) * median(bent) / middle, ofMedian * median(distance) / middle
}

// median returns the median of values, which it sorts.
func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// trend returns the value at a place of the line through a curve around there, beginning with the
// values close to its own. Those further off than limit do not count.
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
		if slope != 0 { // a slope within twice its error is none, and steep ones count in full
			slope *= max(0, 1-4*rest/(sum*wide*slope*slope))
		}
		at -= slope * middle
	}
	return at
}
