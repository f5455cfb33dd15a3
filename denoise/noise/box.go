package noise

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Box is a part of a picture, in luma samples. The zero Box is the whole picture.
type Box struct{ X, Y, Width, Height int }

// LeastSide is the least width and height of a box: chroma of half the size has blocks in it.
const LeastSide = 32

// Spot measures the noise in a box over frames that come one after another, in a second of a video.
// In a box that is flat and stands still all is noise: the variation of a block of 8x8 from frame
// to frame, and, where a codec with loss repeats blocks with their noise, also the part that stays.
type Spot struct {
	// Scale is the noise of samples relative to the measured planes'; 0 means 1.
	Scale float64

	box    Box
	planes [3]spotPlane
	frames int
	coded  bool
	shift  shiftTest
}

// spotPlane has the blocks of one plane.
type spotPlane struct {
	x0, y0, columns, rows, step int
	blocks                      []spotBlock
}

// spotBlock sums up the coefficients of a block over the frames.
type spotBlock struct {
	n            int
	sum, squares [64]float64
}

// NewSpot returns a measurement in a box, which must lie in the pictures.
func NewSpot(b Box) *Spot { return &Spot{box: b} }

// mostBlocks bounds the work on a plane of a frame; larger boxes are sampled.
const mostBlocks = 4096

// Put adds the next frame, with its quantiser. All frames must be of one size. The picture is not
// needed any more when Put returns.
func (s *Spot) Put(pic plane.Views, q pipeline.Quantiser) {
	s.coded = s.coded || q.Step > 0
	for c := range pic.Planes {
		sx, sy := 0, 0
		if c > 0 {
			sx, sy = pic.ShiftX, pic.ShiftY
		}
		p := &s.planes[c]
		if s.frames == 0 {
			p.lay(s.box, sx, sy)
		}
		p.put(&pic.Planes[c], c == 0)
	}
	s.shift.put(&pic.Planes[0], s.box)
	s.frames++
}

func (p *spotPlane) lay(b Box, sx, sy int) {
	p.x0, p.y0, p.step = (b.X+1<<sx-1)>>sx, (b.Y+1<<sy-1)>>sy, 8
	right, bottom := (b.X+b.Width)>>sx, (b.Y+b.Height)>>sy
	for {
		p.columns, p.rows = (right-p.x0-8)/p.step+1, (bottom-p.y0-8)/p.step+1
		if p.columns*p.rows <= mostBlocks {
			break
		}
		p.step += 8
	}
	p.blocks = make([]spotBlock, max(p.columns, 0)*max(p.rows, 0))
}

func (p *spotPlane) put(view *plane.View, luma bool) {
	plane.Rows(p.rows, func(y int) {
		b := blocks{cur: view, luma: luma}
		for x := range p.columns {
			if !b.load(p.x0+x*p.step, p.y0+y*p.step) {
				continue
			}
			s := &p.blocks[y*p.columns+x]
			s.n++
			for k, v := range b.block {
				s.sum[k] += float64(v)
				s.squares[k] += float64(v) * float64(v)
			}
		}
	})
}

// Errors and warnings of a box, in plain words.
var (
	ErrHidden = errors.New("it is black or white there, where noise is cut off")

	WarnMoves = "something moves there, and counts as noise"
	WarnDrawn = "there is more than a flat area, and fine detail may count as noise"
)

// Model returns the noise of samples in the box, and warnings about other content in it.
func (s *Spot) Model() (m Model, warnings []string, err error) {
	m.flattenCurve()
	m.Sure = 1
	for c := range s.planes {
		p := &s.planes[c]
		if len(p.blocks) == 0 {
			continue
		}
		f := p.figures(s.frames)
		if c == 0 && f.blocks < len(p.blocks)/4+1 {
			return m, nil, ErrHidden
		}
		kept := f.keepsNoise(s.coded, s.frames)
		m.Sigma[c] = f.noise(kept, &m.Spectrum[c])
		if c > 0 {
			continue
		}
		if f.outliers > mostOutliers || s.shift.moves() {
			warnings = append(warnings, WarnMoves)
		}
		if s.frames > 1 && f.still > f.moving && kept < 1 {
			warnings = append(warnings, WarnDrawn)
		}
		m.Curve = p.curve(f)
	}
	if len(warnings) > 0 {
		m.Sure = 0.5
	}
	return m.Scale(cmp.Or(s.Scale, 1)), warnings, nil
}

// spotFigures are the means over the blocks of a plane.
type spotFigures struct {
	temporal, static shape // variances over time, and squares of the means over time
	moving, still    float64
	spread           float64 // of the still energies of blocks, relative to their mean
	outliers         float64 // share of the blocks that vary far more than others
	blocks           int
	limit            float64 // energy of an outlier
}

const (
	// A block that varies by more than this multiple of the median is an outlier. A few are dust.
	outlier, mostOutliers = 3, 0.1

	// Noise that a codec keeps in place is alike all over the box, unlike drawn detail.
	evenSpread, unevenSpread = 0.8, 1.2
)

// over returns a block's variances over time, and the squares of its means without their noise.
func (b *spotBlock) over() (temporal, static shape) {
	n := float64(b.n)
	for k := range b.sum {
		mean, square := b.sum[k]/n, b.squares[k]/n
		variance := 0.0
		if b.n > 1 {
			variance = max(square-mean*mean, 0) * n / (n - 1)
		}
		temporal[k], static[k] = variance, mean*mean-variance/n
	}
	return temporal, static
}

// higher is the mean over the frequencies that a gradient does not reach.
func (s *shape) higher() float64 { return (63*s.band(1, 14) - s[1] - s[2] - s[8] - s[9] - s[16]) / 58 }

func (p *spotPlane) figures(frames int) (f spotFigures) {
	var energies, stills []float64
	var used []int
	for i := range p.blocks {
		if b := &p.blocks[i]; b.n == frames || b.n > 1 && 2*b.n > frames {
			temporal, static := b.over()
			energies = append(energies, temporal.band(1, 14))
			stills = append(stills, static.higher())
			used = append(used, i)
		}
	}
	if f.blocks = len(used); f.blocks == 0 {
		return f
	}
	sorted := slices.Sorted(slices.Values(energies))
	f.limit = outlier * sorted[len(sorted)/2]
	n, out, still, squares := 0.0, 0.0, 0.0, 0.0
	for i, at := range used {
		if energies[i] > f.limit {
			out++
			continue
		}
		temporal, static := p.blocks[at].over()
		for k := range temporal {
			f.temporal[k] += temporal[k]
			f.static[k] += static[k]
		}
		still, squares, n = still+stills[i], squares+stills[i]*stills[i], n+1
	}
	for k := range f.temporal {
		f.temporal[k] /= n
		f.static[k] = max(f.static[k]/n, 0)
	}
	f.outliers = out / float64(f.blocks)
	f.moving, f.still = f.temporal.higher(), f.static.higher()
	if mean := still / n; mean > 0 {
		f.spread = math.Sqrt(max(squares/n-mean*mean, 0)) / mean
	}
	return f
}

// keepsNoise is the part of the still content that counts as noise, from 0 to 1. A single picture
// has only that.
func (f *spotFigures) keepsNoise(coded bool, frames int) float64 {
	switch {
	case frames == 1:
		return 1
	case !coded:
		return 0
	}
	return 1 - ramp(f.spread, evenSpread, unevenSpread)
}

// noise returns sigma and sets the spectrum. At the lowest frequencies the still content is the
// gradient of the box.
func (f *spotFigures) noise(kept float64, spectrum *[64]float32) float64 {
	s := f.temporal
	higher := f.moving + kept*f.still
	for k := range s {
		s[k] += kept * f.static[k]
	}
	for _, k := range [5]int{1, 2, 8, 9, 16} {
		if f.moving > 0 {
			s[k] = f.temporal[k] * higher / f.moving
		} else {
			s[k] = higher
		}
	}
	s[0] = (s[1] + s[8]) / 2
	level := s.band(1, 14)
	for k := range s {
		spectrum[k] = float32(max((s[k]+s[k%8*8+k/8])/2, leastShare*level+leastVariance))
	}
	return math.Sqrt(level)
}

const (
	curveFrom   = 64 // levels of brightness between the tenths of the blocks, to measure a curve
	curveBlocks = 32
)

// curve returns the factor of the variance by brightness: a line through the blocks, if they are of
// many brightnesses.
func (p *spotPlane) curve(f spotFigures) (curve [256]float32) {
	for i := range curve {
		curve[i] = 1
	}
	level := f.temporal.band(1, 14)
	var xs, ys []float64
	for i := range p.blocks {
		b := &p.blocks[i]
		if b.n < 2 {
			continue
		}
		temporal, _ := b.over()
		if e := temporal.band(1, 14); e <= f.limit {
			xs, ys = append(xs, b.sum[0]/float64(b.n)/8), append(ys, e/level)
		}
	}
	sorted := slices.Sorted(slices.Values(xs))
	if len(xs) < curveBlocks || level <= 0 || sorted[len(xs)*9/10]-sorted[len(xs)/10] < curveFrom {
		return curve
	}
	var sw, sx, sy, sxx, sxy float64
	for i, x := range xs {
		w := 1 / (ys[i]*ys[i] + 0.05)
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x, sy+w*ys[i], sxx+w*x*x, sxy+w*x*ys[i]
	}
	slope := (sw*sxy - sx*sy) / (sw*sxx - sx*sx)
	l := line{(sy - slope*sx) / sw, slope, sorted[0], sorted[len(xs)-1]}
	if slope > 0 {
		l.from, l.to = 0, 256
	}
	mean := 0.0
	for _, x := range xs {
		mean += l.at(x) / float64(len(xs))
	}
	for i := range curve {
		curve[i] = float32(l.at(float64(i)) / mean)
	}
	return curve
}

// shiftTest finds out whether a picture moves: it then resembles the one before more a little
// further on.
type shiftTest struct {
	last []uint16
	cost [2*shiftReach + 1][2*shiftReach + 1]int64
}

const (
	shiftReach = 2
	shiftSide  = 96  // samples that are compared, at the most
	shiftGain  = 0.8 // of the difference in place; in noise all are alike
)

func (t *shiftTest) put(luma *plane.View, b Box) {
	w, h := min(b.Width, shiftSide), min(b.Height, shiftSide)
	x0, y0 := b.X+(b.Width-w)/2, b.Y+(b.Height-h)/2
	now := make([]uint16, w*h)
	for y := range h {
		luma.Read(now[y*w:][:w], x0, y0+y)
	}
	if t.last != nil {
		for dy := range t.cost {
			for dx := range t.cost[dy] {
				t.cost[dy][dx] += shiftCost(now, t.last, w, h, dx-shiftReach, dy-shiftReach)
			}
		}
	}
	t.last = now
}

// shiftCost sums the differences of the inner samples from the last picture's at a distance.
func shiftCost(now, last []uint16, w, h, dx, dy int) (sum int64) {
	for y := shiftReach; y < h-shiftReach; y++ {
		a, b := now[y*w:][:w], last[(y+dy)*w:][:w]
		for x := shiftReach; x < w-shiftReach; x++ {
			d := int64(a[x]) - int64(b[x+dx])
			sum += max(d, -d)
		}
	}
	return sum
}

func (t *shiftTest) moves() bool {
	least := int64(math.MaxInt64)
	for _, row := range t.cost {
		least = min(least, slices.Min(row[:]))
	}
	return float64(least) < shiftGain*float64(t.cost[shiftReach][shiftReach])
}
