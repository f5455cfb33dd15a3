package noise

import (
	"math"
	"slices"
)

// Lights finds flicker in frames that come one after another: film whose exposure varied, where no
// frame resembles its neighbours. Its result for a frame depends on that and on [LightsBefore]
// frames before it.
type Lights struct {
	Black float64 // the level of black

	scene []light // of frames of the scene, the latest at most
	last  *Reading
}

// LightsBefore is how many frames before its own the flicker of a frame depends on.
const LightsBefore = remembered + 1

const (
	remembered = 24
	fewestLit  = 6 // frames that show flicker

	// The deviation of the brightness from frame to frame, as a part of it. Of films it is 0.012 to
	// 0.05, of other footage at most 0.006.
	leastFlicker, fullFlicker = 0.008, 0.013

	// The rest of the differences between frames that are made equally bright. Where that is
	// little, there is almost no motion.
	fullGain, leastGain = 0.93, 1
	still, moving       = 0.82, 0.90

	mostGain = 1.5
)

// Flicker is how the brightness of a frame differs from its scene.
type Flicker struct {
	Gain float64 // gives the frame the brightness of those before it, by the distance from black
	Part float64 // how far neighbours in place are to be trusted more than usual, 0 to 1
}

// light is the brightness of a frame, above 0.
type light struct {
	mean float64

	// Sums over a thumb of the differences from the frame before: as they are, and equally bright.
	changed, aligned float64
}

// Flicker returns the flicker of the next frame. The gain is 1 if its scene does not flicker.
func (l *Lights) Flicker(r *Reading) Flicker {
	l.take()
	l.last = r
	part, stands := l.flicker()
	if part > 0 {
		r.Wait()
	}
	if part == 0 || r.pair.cut {
		return Flicker{Gain: 1}
	}
	own := l.of(r).mean
	sum := own
	for _, e := range l.scene {
		sum += e.mean
	}
	gain := math.Pow(sum/float64(len(l.scene)+1)/own, part)
	return Flicker{min(max(gain, 1/mostGain), mostGain), part * mix(0.4, 1, stands)}
}

// take adds the last frame to its scene.
func (l *Lights) take() {
	r := l.last
	if r == nil {
		return
	}
	r.Wait()
	if r.pair.cut {
		l.scene = nil
	}
	l.scene = append(l.scene, l.of(r))
	if len(l.scene) > remembered {
		l.scene = l.scene[1:]
	}
}

// of returns the light of a frame.
func (l *Lights) of(r *Reading) light {
	own := light{mean: l.mean(r.thumb)}
	if len(r.before) != len(r.thumb) {
		return own
	}
	by := own.mean / l.mean(r.before)
	for i, v := range r.thumb {
		was, is := float64(r.before[i])-l.Black, float64(v)-l.Black
		own.changed += math.Abs(is - was)
		own.aligned += math.Abs(is - float64(by*was))
	}
	return own
}

func (l *Lights) mean(thumb []byte) float64 {
	sum := 0
	for _, v := range thumb {
		sum += int(v)
	}
	return max(float64(sum)/float64(max(len(thumb), 1))-l.Black, 1)
}

// flicker returns how far the scene flickers as a whole, and how far it stands still, from 0 to 1.
func (l *Lights) flicker() (part, stands float64) {
	if len(l.scene) < fewestLit {
		return 0, 0
	}
	var means, bends []float64
	var changed, aligned float64
	for i, e := range l.scene {
		means = append(means, e.mean)
		if i > 0 {
			changed, aligned = changed+e.changed, aligned+e.aligned
		}
		if i > 1 {
			bends = append(bends, math.Abs(l.scene[i-2].mean-2*l.scene[i-1].mean+e.mean))
		}
	}
	const deviation = 1.48 / 2.45 // of a median, and of a difference of differences
	bend, left := deviation*median(bends)/median(means), aligned/max(changed, least)
	part = ramp(bend, leastFlicker, fullFlicker) * (1 - ramp(left, fullGain, leastGain))
	return part, 1 - ramp(left, still, moving)
}

// median sorts the values.
func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
