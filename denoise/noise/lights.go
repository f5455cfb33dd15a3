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

	scene []*light // of frames of the scene, the latest at most
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

	// The part of that rest that remains at equal brightness at each place. Flicker that is alike
	// everywhere leaves nearly all.
	fullPlaces, noPlaces = 0.77, 0.84

	mostGain = 1.5
)

// Flicker is how the brightness of a frame differs from its scene.
type Flicker struct {
	Gain  float64 // gives the frame the mean brightness of those before it; 1 without flicker
	Shade *Shade  // gives it their brightness at each place; nil without flicker
	Part  float64 // how far neighbours in place are to be trusted more than usual, 0 to 1
}

// light is the brightness of a frame, above 0.
type light struct {
	thumb level
	mean  float64

	// The differences from the frame before that remain at equal brightness at each place, as a
	// part of those at equal mean brightness; 0 until it is needed.
	rest float64
}

// Flicker returns the flicker of the next frame.
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
	own := l.of(r)
	want, mean := l.mean(append(l.scene, own))
	gain := min(max(math.Pow(mean/own.mean, part), 1/mostGain), mostGain)
	shade, trust := Shade{Gains: [terms]float64{gain}}, part*mix(0.4, 1, stands)
	if stands *= l.byPlace(stands); stands > 0 { // else the fit would follow the motion
		shade = fit(l.equations(own.thumb), want).mix(1, part).mix(gain, stands)
	}
	return Flicker{gain, &shade, trust}
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
func (l *Lights) of(r *Reading) *light {
	sum := 0
	for _, v := range r.thumb.pix {
		sum += int(v)
	}
	return &light{thumb: r.thumb, mean: max(float64(sum)/float64(max(len(r.thumb.pix), 1))-l.Black, 1)}
}

// mean returns the mean of the thumbs of frames, above black, and its own mean.
func (l *Lights) mean(all []*light) (thumb []float64, mean float64) {
	thumb = make([]float64, len(all[0].thumb.pix))
	n := float64(len(all))
	for _, e := range all {
		mean += e.mean / n
		for i, v := range e.thumb.pix {
			thumb[i] += (float64(v) - l.Black) / n
		}
	}
	return thumb, mean
}

// differences sums up over a thumb how a frame differs from the one before, as they are and equally
// bright.
func (l *Lights) differences(before, e *light) (changed, left float64) {
	by := e.mean / before.mean
	for i, v := range e.thumb.pix {
		was, is := float64(before.thumb.pix[i])-l.Black, float64(v)-l.Black
		changed += math.Abs(is - was)
		left += math.Abs(is - float64(by*was))
	}
	return changed, left
}

// byPlace returns how far a scene that stands still flickers by place, from 0 to 1.
func (l *Lights) byPlace(stands float64) float64 {
	if stands == 0 {
		return 0
	}
	var all []float64
	for i, e := range l.scene[1:] {
		if before := l.scene[i]; e.rest == 0 {
			want, _ := l.mean([]*light{before})
			equations := l.equations(e.thumb)
			s := fit(equations, want)
			for _, r := range s.rest(equations, want) {
				e.rest += r
			}
			_, left := l.differences(before, e)
			e.rest = max(e.rest, least) * e.mean / before.mean / max(left, least)
		}
		all = append(all, e.rest)
	}
	return 1 - ramp(median(all), fullPlaces, noPlaces)
}

// flicker returns how far the scene flickers as a whole, and how far it stands still, from 0 to 1.
func (l *Lights) flicker() (part, stands float64) {
	if len(l.scene) < fewestLit {
		return 0, 0
	}
	var means, bends []float64
	for i, e := range l.scene {
		means = append(means, e.mean)
		if i > 1 {
			bends = append(bends, math.Abs(l.scene[i-2].mean-2*l.scene[i-1].mean+e.mean))
		}
	}
	const deviation = 1.48 / 2.45 // of a median, and of a difference of differences
	part = ramp(deviation*median(bends)/median(means), leastFlicker, fullFlicker)
	if part == 0 {
		return 0, 0
	}
	var changed, left float64
	for i, e := range l.scene[1:] {
		c, r := l.differences(l.scene[i], e)
		changed, left = changed+c, left+r
	}
	left /= max(changed, least)
	return part * (1 - ramp(left, fullGain, leastGain)), 1 - ramp(left, still, moving)
}

// median sorts the values.
func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
