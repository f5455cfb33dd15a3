package kernels

import (
	"fmt"
	"math"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Reference filters src into dst by the definition of p, in float64 and without
// optimisation. It defines the correct result, and takes seconds for a large frame. Both frames
// must have the same format and must not share memory; src is borrowed and not written, and only
// samples of dst are written.
//
// Details:
//   - levels depend on the frame's depth d: 0 to 2^d-1. sigma_r is in levels of 8 bits, each
//     (2^d-1)/255 of them.
//   - words: every pixel's R, G, B rounded to whole levels and clamped, chroma replicated; see
//     toWords.
//   - out(p) = sum w I(q) / sum w over the window, rounded to nearest into words.
//   - planes: out = in + yuv(filtered word) - yuv(word), rounded once and clamped to the depth, not
//     to the nominal range. U and V change by the mean difference over the pixels that the sample
//     covers. Detail that words cannot hold (luma beyond the nominal range, colours outside the RGB
//     cube, fractions of a level) thus bypasses the filter and survives, and samples stay
//     bit-identical where no word changes. The filtered word is the rounded one, since every form
//     of the filter produces it, even those that only know RGBA.
//   - RGB: words are the samples, and the result is the filtered word.
//   - gray: filtered as Y without chroma; only Y changes.
//   - recursive: see recursive.go; words are the same as for the bilateral filter.
//   - interlaced frames: see field.
func Reference(dst, src *pipeline.Frame, p Planned) error {
	if err := Validate(p); err != nil {
		return err
	}
	return eachField(dst, src, func(in picture, t transform) picture { return p.words(in, t, src.Layout.Info().Depth) })
}

// eachField converts each field of src to words, filters them, and converts the results to samples
// of dst.
func eachField(dst, src *pipeline.Frame, filter func(picture, transform) picture) error {
	if err := checkPair(dst, src); err != nil {
		return err
	}
	t, err := newTransform(src.Format)
	if err != nil {
		return err
	}
	in, n := fieldsOf(src, src.Interlaced)
	out, _ := fieldsOf(dst, src.Interlaced)
	for i := range n {
		words := wordsOf(in[i], t)
		planesOf(out[i], in[i], t, words, filter(words, t))
	}
	return nil
}

// ToWords sets the samples of dst, RGBA of the size of src, to the words that Reference filters.
// src has 8 bits.
func ToWords(dst, src *pipeline.Frame) error {
	t, err := checkWords(src, dst)
	if err != nil {
		return err
	}
	in, n := fieldsOf(src, src.Interlaced)
	out, _ := fieldsOf(dst, src.Interlaced)
	for i := range n {
		storeRGB(out[i], wordsOf(in[i], t))
	}
	return nil
}

// FromWords adds the changes of words to the samples of src, as Reference does, and stores the sums
// in dst.
func FromWords(dst, src, words *pipeline.Frame) error {
	if err := checkPair(dst, src); err != nil {
		return err
	}
	t, err := checkWords(src, words)
	if err != nil {
		return err
	}
	in, n := fieldsOf(src, src.Interlaced)
	out, _ := fieldsOf(dst, src.Interlaced)
	is, _ := fieldsOf(words, src.Interlaced)
	for i := range n {
		planesOf(out[i], in[i], t, wordsOf(in[i], t), wordsOf(is[i], t))
	}
	return nil
}

func checkWords(src, words *pipeline.Frame) (t transform, err error) {
	if err := checkFrame(src); err != nil {
		return t, err
	}
	if err := checkFrame(words); err != nil {
		return t, err
	}
	if words.Layout != pipeline.RGBA || src.Layout.Info().Depth != 8 || words.Width != src.Width || words.Height != src.Height {
		return t, fmt.Errorf("kernels: the words of %s are %s", src.Format, words.Format)
	}
	return newTransform(src.Format)
}

// A word is R, G, B and A of a pixel.
type word [4]uint16

// A picture is rows of words.
type picture struct {
	width, height int
	words         []word
}

func newPicture(width, height int) picture { return picture{width, height, make([]word, width*height)} }

func (p picture) at(x, y int) word { return p.words[y*p.width+x] }

// nearest rounds to nearest, and up from a hair below a tie: means of two levels are ties, which
// rounding errors may put on either side.
func nearest(x float64) float64 { return math.Floor(x + 0.5 + 1.0/16384) }

// channels returns R, G, B of a word.
func channels(w word) [3]float64 { return [3]float64{float64(w[0]), float64(w[1]), float64(w[2])} }

// wordOf rounds a colour to a word.
func (t transform) wordOf(c [3]float64, alpha uint16) word {
	return word{t.level(c[0]), t.level(c[1]), t.level(c[2]), alpha}
}

// wordsOf converts a field to words.
func wordsOf(f field, t transform) picture {
	p := newPicture(f.width, f.height)
	m := t.toWords()
	plane.Rows(f.height, func(y int) {
		for x := range f.width {
			p.words[y*p.width+x] = f.word(x, y, &m)
		}
	})
	return p
}

func (f field) word(x, y int, m *toWords) word {
	if f.info.RGB {
		w := word{3: uint16(m.most)}
		for i := range f.channels() {
			plane, at := f.channel(i, x)
			w[i] = f.sample(plane, at, y)
		}
		return w
	}
	u, v := f.chroma(x, y)
	return m.of(f.sample(0, x, y), u, v)
}

// chroma returns U and V of the pixel x, y.
func (f field) chroma(x, y int) (u, v uint16) {
	cx, cy := x>>f.info.SubX, min(y>>f.info.SubY, f.chromaRead-1)
	if f.info.SemiPlanar {
		return f.sample(1, 2*cx, cy), f.sample(1, 2*cx+1, cy)
	}
	return f.sample(1, cx, cy), f.sample(2, cx, cy)
}

// outside maps a coordinate into 0 to n-1 by the border rule.
func outside(i, n int, b Border) int {
	for b == Reflect && n > 1 && (i < 0 || i >= n) { // a small picture folds more than once
		if i < 0 {
			i = -i
		} else {
			i = 2*(n-1) - i
		}
	}
	return min(max(i, 0), n-1)
}

// filterWords is the bilateral filter itself. Alpha stays unchanged.
func filterWords(in picture, p Bilateral, t transform) picture {
	out := newPicture(in.width, in.height)
	m := &measure{Bilateral: p, in: in, twoVar: twice(p.SigmaR), colours: make([][3]float64, len(in.words)), spatial: SpatialWeights(p)}
	for i, w := range in.words {
		m.colours[i] = channels(w)
	}
	for y := range in.height {
		for x := range in.width {
			out.words[y*out.width+x] = t.wordOf(m.mean(x, y), in.at(x, y)[3])
		}
	}
	return out
}

// measure holds the inputs of one picture's weights: each colour and each spatial weight, computed
// once.
type measure struct {
	Bilateral
	in      picture
	twoVar  float64      // 2 sigma_r^2
	colours [][3]float64 // like picture.words
	spatial [][]float64  // Gs by dy+r, dx+r
}

// twice returns 2 sigma^2, kept from underflow so that 0 divided by it stays 0.
func twice(sigma float64) float64 { return max(2*sigma*sigma, 1e-300) }

// SpatialWeights returns Gs by dy+r, dx+r.
func SpatialWeights(p Bilateral) [][]float64 {
	g := make([][]float64, 2*p.Radius+1)
	for j := range g {
		g[j] = make([]float64, 2*p.Radius+1)
		for i := range g[j] {
			dx, dy := float64(i-p.Radius), float64(j-p.Radius)
			g[j][i] = math.Exp(-(dx*dx + dy*dy) / twice(p.SigmaS))
		}
	}
	return g
}

// mean returns the weighted mean of each channel over the window of x, y.
func (m *measure) mean(x, y int) (sum [3]float64) {
	r, weights := m.Radius, 0.0
	centre := m.colour(x, y)
	for dy := -r; dy <= r; dy++ {
		for dx := -r; dx <= r; dx++ {
			q := m.colour(x+dx, y+dy)
			weight := m.spatial[dy+r][dx+r] * m.weight(centre, q)
			weights += weight
			for c := range sum {
				sum[c] += weight * q[c]
			}
		}
	}
	for c := range sum {
		sum[c] /= weights
	}
	return sum
}

// colour returns the colour at x, y, which may lie outside.
func (m *measure) colour(x, y int) *[3]float64 {
	return &m.colours[outside(y, m.in.height, m.Border)*m.in.width+outside(x, m.in.width, m.Border)]
}

// weight is R(D) of two colours.
func (m *measure) weight(p, q *[3]float64) float64 {
	d2 := 0.0
	for c := range p {
		d := p[c] - q[c]
		d2 += d * d
	}
	if m.Range == Gaussian {
		return math.Exp(-d2 / m.twoVar)
	}
	return 1 / (1 + d2/m.twoVar)
}
