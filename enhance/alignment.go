package enhance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Alignment measures the offset of chroma from luma in a video, from some of its frames. All frames
// must have the same format.
//
// An edge of chroma usually coincides with an edge of luma, with a ratio and a sign that vary from
// edge to edge. For each block and each offset, the gradients of chroma are therefore fitted by
// luma gradients times a factor, and the offset with the best fit wins. Blocks are divided into
// voters. Their spread gives the error.
type Alignment struct {
	facts  Facts
	fields []plane.Field
	reachY int // of the search, in rows of a field or of a progressive frame
	frames int // added
	votes  [voters]likelihood
}

// likelihood is the log-likelihood of each offset of chroma from luma.
type likelihood [2*mostReachY + 1][2*reachX + 1]float64

const (
	voters      = 8
	leastVoters = 6
	reachX      = 12 // of the search, in luma samples
	mostReachY  = 8
	blockWidth  = 64 // luma samples
	blockHeight = 32 // rows of a frame or a field
	mostBlocks  = 40 // per frame or field: the most colourful ones
	smoothings  = 4  // passes over luma
	mostError   = 0.35
)

// leastShift returns the smallest offset that counts, in samples. Lenses and chroma siting cause
// about half a sample in pictures of the usual size, and more in larger ones.
func leastShift(side, usual int) float64 { return 0.75 * max(1, float64(side)/float64(usual)) }

// NewAlignment returns a detector. f describes the first frame.
func NewAlignment(f Facts) *Alignment {
	a := &Alignment{facts: f, fields: []plane.Field{plane.Whole}, reachY: mostReachY}
	if f.Interlaced && f.Format.Height > 1 {
		a.fields, a.reachY = []plane.Field{plane.Top, plane.Bottom}, mostReachY/2+1
	}
	return a
}

// Full reports whether further frames cannot help, as without chroma.
func (a *Alignment) Full() bool { return hasChroma(a.facts.Format.Layout) != nil }

// Add measures a frame of the detector's format. Its samples must be in host memory.
func (a *Alignment) Add(f *pipeline.Frame) {
	a.frames++
	if a.Full() {
		return
	}
	for _, field := range a.fields {
		a.addField(f, field)
	}
}

// gradient holds the difference of the two neighbours of each sample in one direction.
type gradient struct {
	pix   []float32
	width int
}

// gradients holds the horizontal and vertical gradients of a plane.
type gradients struct{ across, down gradient }

// place is the position of a block of chroma and its gradient energy.
type place struct {
	x, y   int
	energy float64
}

func (a *Alignment) addField(f *pipeline.Frame, field plane.Field) {
	info := f.Layout.Info()
	luma := picture(plane.ComponentOf(f, field, 0)).smoothed(info.SubY).gradients(1<<info.SubX, 1<<info.SubY)
	var chroma [2]gradients
	var width, height int
	for i := range chroma {
		c := plane.ComponentOf(f, field, i+1)
		width, height = c.Width, c.Height
		chroma[i] = picture(c).gradients(1, 1)
	}
	bw, bh := blockWidth>>info.SubX, blockHeight>>info.SubY
	marginX, marginY := reachX>>info.SubX+2, a.reachY>>info.SubY+2
	var all []place
	for y := marginY; y+bh <= height-marginY-1; y += bh {
		for x := marginX; x+bw <= width-marginX-1; x += bw {
			p := place{x: x, y: y}
			for _, g := range chroma {
				p.energy += g.energy(x, y, bw, bh)
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(p, q place) int { return cmp.Compare(q.energy, p.energy) })
	m := matcher{width: bw, height: bh, subX: info.SubX, subY: info.SubY, reachY: a.reachY}
	for _, p := range all[:min(len(all), mostBlocks)] {
		vote := &a.votes[(p.x/bw+3*(p.y/bh))%voters]
		m.add(vote, luma.across, chroma[0].across, chroma[1].across, p)
		m.add(vote, luma.down, chroma[0].down, chroma[1].down, p)
	}
}

// matcher compares blocks of chroma with luma.
type matcher struct {
	width, height int // of a block
	subX, subY    int
	reachY        int
	u, v          []float32
}

// add adds the log-likelihood of each offset in a block. The residual of the fit is noise of
// unknown strength, so the logarithm of its energy counts.
func (m *matcher) add(l *likelihood, luma, u, v gradient, p place) {
	m.u, m.v = m.u[:0], m.v[:0]
	var uu, vv float32
	for y := range m.height {
		at := (p.y+y)*u.width + p.x
		m.u, m.v = append(m.u, u.pix[at:at+m.width]...), append(m.v, v.pix[at:at+m.width]...)
	}
	for i, u := range m.u {
		uu += u * u
		vv += m.v[i] * m.v[i]
	}
	const rounding = 0.5 // least variance of a gradient
	floor := rounding * float32(len(m.u))
	for sy := -m.reachY; sy <= m.reachY; sy++ {
		for sx := -reachX; sx <= reachX; sx++ {
			var gg, ug, vg float32
			i := 0
			for y := range m.height {
				row := luma.pix[((p.y+y)<<m.subY-sy)*luma.width+p.x<<m.subX-sx:]
				for x := range m.width {
					g := row[x<<m.subX]
					gg += g * g
					ug += g * m.u[i]
					vg += g * m.v[i]
					i++
				}
			}
			l[sy+mostReachY][sx+reachX] -= math.Log1p(-float64(ug*ug/((gg+floor)*(uu+floor)))) +
				math.Log1p(-float64(vg*vg/((gg+floor)*(vv+floor))))
		}
	}
}

// samples is a plane in 8-bit levels.
type samples struct {
	pix           []float32
	width, height int
}

func picture(c plane.Component) samples {
	s := samples{make([]float32, c.Width*c.Height), c.Width, c.Height}
	row := make([]uint16, c.Width)
	unit := 1 / float32(int(1)<<(c.Depth-8))
	for y := range c.Height {
		c.Read(row, 0, y)
		for x, v := range row {
			s.pix[y*c.Width+x] = float32(v) * unit
		}
	}
	return s
}

// smoothed smooths luma in place against noise. With vertical subsampling, it also moves row y to
// the middle of rows y and y+1, where chroma lies.
func (s samples) smoothed(subY int) samples {
	w := s.width
	for y := range s.height {
		row := s.pix[y*w:][:w]
		next := s.pix[min(y+subY, s.height-1)*w:][:w]
		for x := range row {
			row[x] = (row[x] + next[x]) / 2
		}
	}
	before := make([]float32, w)
	for range smoothings {
		for y := range s.height {
			row := s.pix[y*w:][:w]
			copy(before, row)
			for x := 2; x < w-2; x++ {
				row[x] = (before[x-2] + before[x+2] + 4*(before[x-1]+before[x+1]) + 6*before[x]) / 16
			}
		}
	}
	return s
}

// gradients returns the differences of samples at distance step on both sides, and 0 at the edges.
func (s samples) gradients(stepX, stepY int) gradients {
	across, down := make([]float32, len(s.pix)), make([]float32, len(s.pix))
	for y := range s.height {
		for x := range s.width {
			i := y*s.width + x
			if x >= stepX && x < s.width-stepX {
				across[i] = s.pix[i+stepX] - s.pix[i-stepX]
			}
			if y >= stepY && y < s.height-stepY {
				down[i] = s.pix[i+stepY*s.width] - s.pix[i-stepY*s.width]
			}
		}
	}
	return gradients{gradient{across, s.width}, gradient{down, s.width}}
}

// energy returns the sum of squares in a block.
func (g gradients) energy(x, y, w, h int) (sum float64) {
	for j := y; j < y+h; j++ {
		at := j*g.across.width + x
		for i := at; i < at+w; i++ {
			sum += float64(g.across.pix[i]*g.across.pix[i] + g.down.pix[i]*g.down.pix[i])
		}
	}
	return sum
}

// peak returns the likeliest offset in samples and rows of luma. A coordinate is NaN at the limit
// of the search.
func (l *likelihood) peak(reachY int) (x, y float64) {
	const midX, midY = reachX, mostReachY
	bx, by := midX, midY
	for j := midY - reachY; j <= midY+reachY; j++ {
		for i := range l[j] {
			if l[j][i] > l[by][bx] {
				bx, by = i, j
			}
		}
	}
	x, y = math.NaN(), math.NaN()
	if bx > 0 && bx < 2*midX {
		x = float64(bx-midX) + parabolaMaximum(l[by][bx-1], l[by][bx], l[by][bx+1])
	}
	if by > midY-reachY && by < midY+reachY {
		y = float64(by-midY) + parabolaMaximum(l[by-1][bx], l[by][bx], l[by+1][bx])
	}
	return x, y
}

// parabolaMaximum returns the position of the maximum of a parabola through three values, relative
// to the middle value, which is the largest.
func parabolaMaximum(before, at, after float64) float64 {
	if bent := before + after - 2*at; bent < 0 {
		return (before - after) / (2 * bent)
	}
	return 0
}

// Aligned is the measured offset of chroma.
type Aligned struct {
	Frames         int     // measured
	X, Y           float64 // offset of chroma to the right and down, in luma samples of the picture as shown
	KnownX, KnownY bool    // the offset in this direction was measurable
	layout         pipeline.Layout
}

// Find returns the result of all frames added.
func (a *Alignment) Find() Aligned {
	found := Aligned{Frames: a.frames, layout: a.facts.Format.Layout}
	var sum likelihood
	var xs, ys []float64
	for i := range a.votes {
		vote := &a.votes[i]
		if *vote == (likelihood{}) {
			continue
		}
		for y := range sum {
			for x, v := range vote[y] {
				sum[y][x] += v
			}
		}
		x, y := vote.peak(a.reachY)
		xs, ys = append(xs, x), append(ys, y)
	}
	x, y := sum.peak(a.reachY)
	var c ChromaShift
	c.X, found.KnownX = rounded(x, xs, 1, leastShift(a.facts.Format.Width, 720))
	c.Y, found.KnownY = rounded(y, ys, float64(len(a.fields)), leastShift(a.facts.Format.Height, 576))
	c = c.shown(a.facts)
	found.X, found.Y = c.X, c.Y
	if sideways, _, _ := a.facts.orientation(); sideways {
		found.KnownX, found.KnownY = found.KnownY, found.KnownX
	}
	return found
}

// rounded rounds an offset to a quarter of a sample, or to 0 if it is small. It reports whether the
// votes agree. unit is the size of a unit of best and votes in samples or rows of the frame.
func rounded(best float64, votes []float64, unit, least float64) (float64, bool) {
	votes = slices.DeleteFunc(slices.Clone(votes), math.IsNaN)
	if len(votes) < leastVoters || math.IsNaN(best) {
		return 0, false
	}
	middle := quantile(votes, 0.5)
	off := make([]float64, len(votes))
	for i, v := range votes {
		off[i] = math.Abs(v - middle)
	}
	const normal = 1.4826 * 1.2533 // standard error of a median per median absolute deviation, times the root of the count
	wrong := normal * quantile(off, 0.5) / math.Sqrt(float64(len(votes)))
	if wrong*unit > mostError || math.Abs(best-middle)*unit > 3*mostError {
		return 0, false
	}
	if best *= unit; math.Abs(best) < least+2*wrong*unit {
		return 0, true // not significantly different from 0
	}
	return math.Round(4*best) / 4, true
}

// Shift returns the value of --chroma-shift that corrects the offset, or "" for no shift.
func (f Aligned) Shift() string {
	if f.X == 0 && f.Y == 0 {
		return ""
	}
	return ChromaShift{X: -f.X, Y: -f.Y}.String()
}

// String describes the offset and the correction, for the user.
func (f Aligned) String() string {
	switch err := hasChroma(f.layout); {
	case err != nil && f.Frames > 0:
		return strings.TrimPrefix(err.Error(), "--") + ": it stays as it is"
	case !f.KnownX && !f.KnownY:
		return fmt.Sprintf("chroma-shift: could not be measured in %s: chroma stays where it is", pictures(f.Frames))
	}
	var lies []string
	if f.X != 0 {
		lies = append(lies, fmt.Sprintf("%g pixels to the %s", math.Abs(f.X), map[bool]string{true: "right", false: "left"}[f.X > 0]))
	}
	if f.Y != 0 {
		lies = append(lies, fmt.Sprintf("%g pixels %s", math.Abs(f.Y), map[bool]string{true: "down", false: "up"}[f.Y > 0]))
	}
	text := "chroma-shift: chroma fits luma: it stays"
	if len(lies) > 0 {
		text = fmt.Sprintf("chroma-shift: chroma lies %s: moved by %s", strings.Join(lies, " and "), f.Shift())
	}
	switch {
	case !f.KnownX:
		text += "; how far to the side could not be measured"
	case !f.KnownY:
		text += "; how far up or down could not be measured"
	}
	return text
}

// Value returns the value for --chroma-shift, "" for no shift, and a report for the user.
func (a *Alignment) Value() (value, report string) {
	f := a.Find()
	return f.Shift(), f.String()
}
