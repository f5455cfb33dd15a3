// Package grain describes the noise that a filter has removed, so that a player can add noise like
// it: as film grain of AV1.
//
// # How
//
// Where the filtered picture is flat, the difference to the original is noise only. From the
// flattest blocks of a scene come the strength of the noise at each brightness and the covariances
// of neighbours. Those give the weights of an autoregressive filter (Yule and Walker's equations,
// in two dimensions) that makes noise of the same spectrum. A player fills a template with such
// noise and scales parts of it by the brightness of each pixel.
//
// The description of a frame comes from the frames of its scene up to it. It is renewed after 1, 2,
// 4, 8 ... frames, so that it costs few bits.
//
// # Limits
//
// Chroma is described at half the size of luma each way, as files of AV1 nearly always are. RGB is
// not described.
package grain

import (
	"cmp"
	"slices"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

const (
	side       = 32       // of a block of luma
	halfSide   = side / 2 // of a block of chroma
	candidates = 256      // blocks of a frame that are looked at
	always     = 32       // frames of a scene from which on only each eighth is measured
	margin     = 4        // levels next to black and white, where noise is cut off
)

// Measure sums up the noise removed from the frames of one scene. The zero value is ready.
type Measure struct {
	frames int
	luma   lags
	chroma [2]coupled
	bins   [numBins]bin
	full   bool // range of the samples
}

// bin is the noise at a brightness.
type bin struct{ sum, n, blocks float64 }

const (
	binWidth = 20
	numBins  = 13
)

// block is a part of a frame: luma and chroma, in 8-bit levels.
type block struct {
	luma   [side][side]float32
	chroma [2][halfSide][halfSide]float32
}

// Add measures a frame before and after the filter.
func (m *Measure) Add(before, after *pipeline.Frame) {
	n := m.frames
	m.frames++
	if n >= always && n%8 != 0 {
		return
	}
	m.full = after.FullRange
	was, is := plane.ViewsOf(before, plane.Whole), plane.ViewsOf(after, plane.Whole)
	var a, b block
	for _, at := range m.flattest(&is, n) {
		a.read(&was, at.x, at.y)
		b.read(&is, at.x, at.y)
		m.add(&a, &b)
	}
}

type place struct {
	x, y     int
	activity float32
}

// flattest returns the flattest blocks of each brightness among some that differ from frame to
// frame.
func (m *Measure) flattest(v *plane.Views, frame int) (best []place) {
	across, down := v.Planes[0].Width/side, v.Planes[0].Height/side
	all := across * down
	step := (all + candidates - 1) / candidates
	var b block
	var at [numBins][]place
	low, high := float32(16+margin), float32(235-margin)
	if m.full {
		low, high = margin, 255-margin
	}
	for i := frame % max(step, 1); i < all; i += step {
		p := place{x: i % across * side, y: i / across * side}
		b.readLuma(&v.Planes[0], p.x, p.y)
		mean, activity := b.activity()
		if p.activity = activity; mean > low && mean < high {
			at[binOf(mean)] = append(at[binOf(mean)], p)
		}
	}
	for _, places := range at {
		slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.activity, b.activity) })
		best = append(best, places[:(len(places)+3)/4]...)
	}
	return best
}

func binOf(mean float32) int { return min(max(int(mean)/binWidth, 0), numBins-1) }

// activity returns the mean of a block of luma, and how much the means of its parts of 4x4 differ.
func (b *block) activity() (mean, activity float32) {
	const part = 4
	var means [side / part][side / part]float32
	for y := range side {
		for x := range side {
			means[y/part][x/part] += b.luma[y][x] / (part * part)
		}
	}
	for y, row := range means {
		for x, v := range row {
			mean += v / float32(len(row)*len(row))
			if x > 0 {
				activity += (v - row[x-1]) * (v - row[x-1])
			}
			if y > 0 {
				activity += (v - means[y-1][x]) * (v - means[y-1][x])
			}
		}
	}
	return mean, activity
}

func (b *block) readLuma(v *plane.View, x, y int) {
	var row [side]uint16
	unit := 1 / float32(v.Unit())
	for i := range side {
		v.Read(row[:], x, y+i)
		for j, s := range row {
			b.luma[i][j] = float32(s) * unit
		}
	}
}

// read reads luma, and chroma at half the size. A picture without chroma has no description of it.
func (b *block) read(v *plane.Views, x, y int) {
	b.readLuma(&v.Planes[0], x, y)
	for c := range v.Planes[1:] {
		b.readChroma(c, v, x, y)
	}
}

func (b *block) readChroma(c int, v *plane.Views, x, y int) {
	p := &v.Planes[c+1]
	var row [side]uint16
	across, down := 2>>v.ShiftX, 2>>v.ShiftY // samples that make one
	unit := 1 / float32(p.Unit()*across*down)
	out := &b.chroma[c]
	*out = [halfSide][halfSide]float32{}
	for i := range halfSide * down {
		part := row[:halfSide*across]
		p.Read(part, x>>v.ShiftX, y>>v.ShiftY+i)
		for j, s := range part {
			out[i/down][j/across] += float32(s) * unit
		}
	}
}

// add adds a block before and after the filter.
func (m *Measure) add(was, is *block) {
	mean, _ := is.activity()
	var power float64
	for y := range side {
		for x := range side {
			is.luma[y][x] = was.luma[y][x] - is.luma[y][x]
			power += float64(is.luma[y][x] * is.luma[y][x])
		}
	}
	for c := range is.chroma {
		for y := range halfSide {
			for x := range halfSide {
				is.chroma[c][y][x] = was.chroma[c][y][x] - is.chroma[c][y][x]
			}
		}
	}
	at := &m.bins[binOf(mean)]
	at.sum, at.n, at.blocks = at.sum+power, at.n+side*side, at.blocks+1
	add(&m.luma, func(y int) []float32 { return is.luma[y][:] }, side)
	var halved [halfSide][halfSide]float32
	for y := range halfSide {
		for x := range halfSide {
			halved[y][x] = (is.luma[2*y][2*x] + is.luma[2*y][2*x+1] + is.luma[2*y+1][2*x] + is.luma[2*y+1][2*x+1]) / 4
		}
	}
	for c := range m.chroma {
		m.chroma[c].add(&is.chroma[c], &halved)
	}
}
