package noise

import (
	"cmp"
	"math"

	"vidfilter/pipeline"
)

var (
	modeBetween = mode{part: 0.10, start: 0.78, cut: 1.5}
	modeWithin  = mode{part: 0.03, start: 0.70, cut: 1.5}

	// mostWhite is mostBetween for white noise, in luma and in chroma, where coding leaves less in
	// some blocks.
	mostWhite = [2]float64{1.2, mostBetween}
)

const (
	// Between frames the variance can exceed the one within them only by motion, or because grain
	// has less of the frequencies that count within them.
	mostBetween = 2.25

	// A coefficient has at least so much of the level, and so much: the filter divides by it.
	leastShare, leastVariance = 0.2, 0.05

	// Where more blocks than this are copies, a codec made the differences; noise is then looked
	// for within the frames. The second is where that is all that counts.
	fewCopies, manyCopies = 0.25, 0.35

	surelyEnough = 200 // blocks that differ, to be sure of them
)

// sumOf adds up the pairs about a frame: pairs[at] is of the frame and the one before it, and the
// others follow each other. Pairs beyond a cut, of other scenes, do not count.
func sumOf(pairs []*Pair, at int) total {
	sum := add(sameScene(pairs, at))
	if sum.best() == nil {
		sum = add(pairs) // a flash, or a single frame: no other shows its scene
	}
	return sum
}

// sameScene returns the pairs about a frame that lie in one scene with it.
func sameScene(pairs []*Pair, at int) []*Pair {
	from, to := at+1, at+1
	for from > 0 && !pairs[from-1].cut {
		from--
	}
	for to < len(pairs) && !pairs[to].cut {
		to++
	}
	return pairs[from:to]
}

// total adds up pairs, in groups by their information.
type total struct {
	moving *Pair // of two pictures
	copies *Pair // of one picture twice: telecine, a still
	single *Pair // of a picture alone, after a cut

	clipped *Pair // of pictures that are all black or white

	triples *Triple // nil if there are none
}

func add(pairs []*Pair) (t total) {
	for _, p := range pairs {
		t.add(p)
	}
	return t
}

func (t *total) add(p *Pair) {
	to := &t.moving
	switch {
	case p.clipped:
		to = &t.clipped
	case p.cut:
		to = &t.single
	case p.copied():
		to = &t.copies
	}
	if *to == nil {
		*to = new(Pair)
	}
	(*to).merge(p)
}

func (t *total) addTriple(u *Triple) {
	if t.triples == nil {
		t.triples = new(Triple)
	}
	t.triples.merge(u)
}

// best returns the sum with the most information, or nil.
func (t *total) best() *Pair { return cmp.Or(t.moving, t.copies, t.single, t.clipped) }

// model returns the noise of the best sum, given the quantiser.
func (t *total) model(q pipeline.Quantiser) Model {
	m, luma := t.uncoded()
	coded := m
	f := t.best().features()
	f.noise = luma.noise
	coded.addCoded(f, q)
	// A coarse step leaves a part of the grain.
	left := luma.grain() * (1 - ramp(float64(q.Step), 20, 24))
	m.mix(&coded, 1-left)
	for c := range m.grained {
		if q.Step > 0 {
			m.grained[c] *= left
		}
	}
	return m
}

// uncoded returns model without the codecs' part, and the triples' estimate of luma.
func (t *total) uncoded() (m Model, luma covariance) {
	m = t.best().model()
	if t.triples != nil {
		luma = m.follow(t.triples)
	}
	m.Sure = t.sure(&luma)
	return m, luma
}

// mix goes a part of the way to another model.
func (m *Model) mix(to *Model, part float64) {
	for c := range m.Sigma {
		m.Sigma[c] = math.Sqrt(mix(m.Sigma[c]*m.Sigma[c], to.Sigma[c]*to.Sigma[c], part))
		for k, v := range m.Spectrum[c] {
			m.Spectrum[c][k] = float32(mix(float64(v), float64(to.Spectrum[c][k]), part))
		}
	}
	for i, v := range m.Curve {
		m.Curve[i] = float32(mix(float64(v), float64(to.Curve[i]), part))
	}
	for c := range m.grained {
		m.grained[c] = mix(m.grained[c], to.grained[c], part)
	}
	m.Sure = mix(m.Sure, to.Sure, part)
}

// sure is the confidence of the sums in the noise, from 0 to 1: by how many blocks differ from
// another picture's and how many do not, by how many frames there are, and by how even it is.
func (t *total) sure(v *covariance) float64 {
	if t.moving == nil {
		return 0
	}
	s := &t.moving.planes[0]
	sure := ramp(float64(s.between.n), 0, surelyEnough) * (1 - s.inSpace())
	return sure * mix(0.5, 1, ramp(float64(v.frames), 0, 4)) * (1 - ramp(v.uneven, 5, 15)/2)
}

// model returns the noise of the pairs that have been added up.
func (p *Pair) model() Model {
	var m Model
	for c := range m.Sigma {
		m.Sigma[c], m.Spectrum[c] = p.planes[c].noise(mostWhite[min(c, 1)])
	}
	m.flattenCurve()
	m.bend(p)
	return m
}

// noise returns the level of a plane's noise and its spectrum.
func (s *statistics) noise(mostWhite float64) (sigma float64, spectrum [64]float32) {
	between, shape, white := s.mismatch()
	within := s.within.low(modeWithin)
	if between < 0 && within < 0 {
		between, within = 0, 0 // only copies of flat areas, or no areas at all
	}
	level := between
	if within >= 0 {
		level = min(between, within*mix(mostBetween, mostWhite, white))
	}
	inSpace := s.inSpace()
	if between < 0 {
		inSpace = 1
	}
	if inSpace > 0 {
		own := s.within.shapeWithin(modeWithin.cut * within)
		floor, white := own.floor()
		level = mix(level, within*floor*white, inSpace)
		own.mix(flat(), white)
		shape.mix(own, inSpace)
	}
	level *= shape.lift(math.Sqrt(level))
	for k, v := range shape {
		spectrum[k] = float32(max(level*v, leastShare*level+leastVariance))
	}
	return math.Sqrt(level), spectrum
}

// mismatch returns the level and the spectrum of the differences between frames.
func (s *statistics) mismatch() (level float64, sh shape, white float64) {
	level = s.between.low(modeBetween)
	coarse := 0.0
	for range 2 {
		sh = s.between.shape(modeBetween.cut * level)
		coarse = ramp(math.Sqrt(max(level, 0)), 2, 3) // below, texture looks like coarse grain
		wide := mix(whiteDeviation, sh.deviation(), coarse)
		level = s.between.low(modeBetween.widened(wide))
	}
	floor, white := sh.floor()
	white = max(white, 1-coarse)
	sh.mix(flat(), white)
	return mix(level, level*floor, white), sh, white
}

// inSpace is how far the noise is that within the frames, from 0 to 1.
func (s *statistics) inSpace() float64 {
	return ramp(float64(s.copies)/float64(s.blocks+1), fewCopies, manyCopies)
}

// shape is a spectrum whose mean is 1 without the block's mean.
type shape [64]float64

// shape returns the mean spectrum of the blocks below an energy. The noise of video is alike across
// and down, or nearly; taken so, twice as many blocks count.
func (s *spectra) shape(limit float64) shape {
	var sums shape
	n := 0
	for b := 0; b < bins && floorOf(b) < limit; b++ {
		n += int(s.count[b])
		for k, v := range s.squares[b] {
			sums[k] += float64(v)
		}
	}
	if n <= 20 {
		return flat()
	}
	sums[0] = (sums[1] + sums[8]) / 2
	return sums.symmetric()
}

// shapeWithin is shape for blocks that hold texture: the lowest frequencies are not noise alone.
func (s *spectra) shapeWithin(limit float64) shape {
	sh := s.shape(limit)
	for _, k := range [6]int{0, 1, 2, 8, 9, 16} {
		sh[k] = sh[3]
	}
	return sh.symmetric()
}

// floor returns the level of the highest frequencies, and how far the spectrum is level there, from
// 0 to 1. Grain that is correlated falls off towards them, all the way. Where there is no fall, the
// noise is white, and the excess at lower frequencies is texture that was not matched.
func (s *shape) floor() (level, white float64) {
	lower, upper := s.band(8, 9), s.band(12, 14)
	if upper <= 0 {
		return 1, 0
	}
	fall := lower / upper
	return s.band(10, 14), ramp(fall, 0.6, 0.8) * (1 - ramp(fall, 1.3, 1.8))
}

// band returns the mean over the frequencies with u+v in a range.
func (s *shape) band(from, to int) float64 {
	sum, n := 0.0, 0
	for k, v := range s {
		if f := k/8 + k%8; f >= from && f <= to {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// deviation is the energy's deviation in blocks of Gaussian noise, relative to its mean.
func (s *shape) deviation() float64 {
	squares := 0.0
	for _, v := range s[1:] {
		squares += v * v
	}
	return math.Sqrt(2*squares) / 63
}

// lift makes up for coarse noise that a match hides, more the lower the frequency, and returns the
// mean that the spectrum then has. Faint noise may be texture.
func (s *shape) lift(sigma float64) (mean float64) {
	part := 0.8 * ramp(s.deviation(), 0.22, 0.30) * ramp(sigma, 3, 5)
	if part == 0 {
		return 1
	}
	for k := range s {
		s[k] *= 1 + math.Ldexp(part, -(k/8+k%8))
	}
	mean = s.band(1, 14)
	for k := range s {
		s[k] /= mean
	}
	return mean
}

func flat() (s shape) {
	for k := range s {
		s[k] = 1
	}
	return s
}

// symmetric returns the mean of a spectrum and its transpose, scaled to a mean of 1.
func (s *shape) symmetric() (out shape) {
	total := 0.0
	for _, v := range s[1:] {
		total += v
	}
	if total == 0 {
		return flat()
	}
	for k := range s {
		out[k] = (s[k] + s[k%8*8+k/8]) / 2 * 63 / total
	}
	return out
}

// mix goes a part of the way to another shape.
func (s *shape) mix(t shape, part float64) {
	for k := range s {
		s[k] = mix(s[k], t[k], part)
	}
}

func mix(a, b, part float64) float64 { return a + (b-a)*part }

// ramp goes from 0 at low to 1 at high. Every choice is made by one: a step would make the strength
// of the filter jump from frame to frame.
func ramp(x, low, high float64) float64 { return min(max((x-low)/(high-low), 0), 1) }
