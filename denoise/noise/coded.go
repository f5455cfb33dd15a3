package noise

import (
	"math"

	"vidfilter/pipeline"
)

// A codec that quantises coarsely takes noise out of most blocks, and the rest comes and goes with
// the frames. The lowest cluster of energies is then far below the visible noise. Three things
// distinguish such noise from a clean video that was coded: the middle of the energies of chroma,
// where clean video is smooth; the energies of luma between frames beside each other and beside
// those within them; and the quantiser, without which only the first is safe.

// features are energies, as standard deviations, at some part of the blocks.
type features struct {
	luma10, luma50 float64 // between frames, exceeded by all but 10 % and 50 % of the blocks
	within10       float64 // within frames
	chroma50       float64 // between frames, of U and V

	chromaWithin10, chromaWithin50 float64 // within frames, of U and V

	noise float64 // the part of the differences between frames that is noise, from 0 to 1, by triples
}

func (p *Pair) features() features {
	y, u, v := &p.planes[0], &p.planes[1], &p.planes[2]
	both := func(u, v *spectra, part float64) float64 {
		return math.Sqrt((u.quantile(part) + v.quantile(part)) / 2)
	}
	return features{
		luma10:   math.Sqrt(y.between.quantile(0.10)),
		luma50:   math.Sqrt(y.between.quantile(0.50)),
		within10: math.Sqrt(y.within.quantile(0.10)),
		chroma50: both(&u.between, &v.between, 0.50),

		chromaWithin10: both(&u.within, &v.within, 0.10),
		chromaWithin50: both(&u.within, &v.within, 0.50),
	}
}

// addCoded adds the noise of coded video, given the quantiser.
func (m *Model) addCoded(f features, q pipeline.Quantiser) {
	var luma, chroma float64
	switch {
	case q.Step > 0:
		luma, chroma = f.withStep(m, q)
	case !q.Faithful:
		luma, chroma = f.withoutStep(m)
	}
	white := m.addWhite(0, luma)
	m.addWhite(1, chroma)
	m.addWhite(2, chroma)
	for i, v := range m.Curve {
		m.Curve[i] = float32(mix(float64(v), 1, white))
	}
}

// addWhite adds white noise of a given sigma to a plane. Variances add. Where that is little beside
// the measurement, the noise has survived, and its better description stays. The part that does not
// is returned.
func (m *Model) addWhite(c int, sigma float64) (white float64) {
	own := m.Sigma[c] * m.Sigma[c]
	if sigma == 0 {
		return 0
	}
	white = ramp(sigma/max(m.Sigma[c], least), 0.10, 0.20)
	add := white * sigma
	for k, v := range m.Spectrum[c] {
		m.Spectrum[c][k] = float32(mix(float64(v), own, white) + add*add)
	}
	m.Sigma[c] = math.Hypot(m.Sigma[c], add)
	return white
}

// withStep returns the noise to add in luma and chroma, for a known quantiser step: the part lost
// by coding, and noise that shows in chroma or in luma.
func (f features) withStep(m *Model, q pipeline.Quantiser) (luma, chroma float64) {
	step := float64(q.Step)
	coded := ramp(f.luma50, 0.5, 0.9) * f.coded(step, q.Smoothed)
	seen, crushed := f.chroma(step, q.Smoothed)
	const survived = 0.7 // the part of the measurement outside it
	// Luma's lowest cluster may lack a part of the noise that chroma shows and every block of luma
	// has within itself: blocks are copied from the frame before.
	missed := seen * beyond(min(f.luma50, f.chroma50, f.within10), m.Sigma[0])
	shown := max(seen*crushed, f.alone(step, q.Smoothed))
	luma = math.Hypot(missed, max(beyond(coded, survived*m.Sigma[0]), shown))
	return luma, max(beyond(0.75*coded, survived*(m.Sigma[1]+m.Sigma[2])/2), shown)
}

// coded returns the sigma that is best where something moves: a little for the noise of coding
// itself, and more where there was noise before.
func (f features) coded(step float64, smoothed bool) float64 {
	const own, most = 15, 25 // steps; coarser ones come of texture, and leave no noise
	noise := f.noise * (1 - ramp(step, most, 45))
	if smoothed { // noise that is left is where the picture has little else
		left := f.luma50 / (f.within10 + 0.3)
		moves := ramp(f.luma50/step, 0.15, 0.25) // more than noise that was coded can be
		alone := (ramp(left, 2, 3.5) + ramp(left, 3.5, 5.5)*(1-moves)) / 2
		return 0.25 * min(step, most) * max(noise, alone)
	}
	return mix(0.14*min(step, own), 0.25*min(step, most), noise)
}

// alone returns the sigma of noise that shows in luma alone, also in flat blocks.
func (f features) alone(step float64, smoothed bool) float64 {
	if smoothed {
		return 0
	}
	still := f.luma10 * f.luma10 / (f.within10 + 0.3)
	return 0.18 * ramp(still, 0.8, 1.3) * min(step, 100)
}

// chroma returns how far chroma shows noise that the codec has crushed, from 0 to 1, and its sigma
// before.
func (f features) chroma(step float64, smoothed bool) (seen, sigma float64) {
	seen, sigma = ramp(f.chroma50, 1.2, 1.8), 0.28*step
	if smoothed {
		return seen, sigma
	}
	// A codec that lacks bits copies blocks with their noise, which then shows within frames alone.
	// Clean chroma has texture only where luma has more.
	within := ramp(f.chromaWithin10, 0.6, 0.9) * ramp(f.chromaWithin10/(f.within10+0.3), 0.2, 0.4)
	seen = max(seen, within*ramp(step, 8, 16))
	// Where luma differs less than the noise of chroma there is little else, and more of it can go.
	// The step may be coarser than noise explains, for a constant rate runs out of bits.
	smooth := 1 - ramp(f.luma50/max(f.chromaWithin50, 0.1), 0.7, 1.1)
	sigma += 0.08 * smooth * (1 - ramp(step, 50, 100)) * step
	return seen, min(sigma, max(9*f.chromaWithin10, 1.5*f.chroma50))
}

// withoutStep returns the noise to add where only the pictures are known: where chroma is much
// noisier than its own estimate, by its energies.
func (f features) withoutStep(m *Model) (luma, chroma float64) {
	if f.chroma50 == 0 {
		return 0, 0
	}
	// Where little was lost, luma varies little from block to block.
	even := ramp(f.luma10/max(f.luma50, least), 0.5, 0.75)
	sigma := mix(2.5, 1.3, even) * f.chroma50 * ramp(f.chroma50, 1.3, 2.3)
	measured := (m.Sigma[1] + m.Sigma[2]) / 2
	// Texture that moves by half samples in chroma stays below the noise for which the ends rise.
	strong := ramp(f.chroma50, 2.5, 4)
	lost := 1 - ramp(measured/f.chroma50, mix(0.45, 0.70, strong), mix(0.55, 0.90, strong))
	return lost * beyond(sigma, m.Sigma[0]), lost * beyond(sigma, measured)
}

// beyond returns the sigma to add to noise of sigma b to make it sigma a.
func beyond(a, b float64) float64 { return math.Sqrt(max(a*a-b*b, 0)) }
