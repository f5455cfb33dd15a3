package enhance

import (
	"math"
	"slices"

	"vidfilter/pipeline"
)

// tape finds rows of tape video outside the picture.
//
// At the bottom, the recorder switches heads, and the rows below are displaced, skewed or noisy. In
// a picture, each row resembles the previous row of its field. At a head switch, this resemblance
// breaks at the same row of nearly every frame, and the next rows are displaced or noisy. An edge
// in the picture has neither property.
//
// At the top, rows of data or half a line are partly dark above a bright picture.
type tape struct {
	top  [4]struct{ seen, dark, black int } // counts of frames for each row
	from int                                // first row of rows
	rows [][]resemblance                    // of each row, in frames with detail
}

// resemblance compares a row with the previous row of its field.
type resemblance struct{ here, displaced float64 } // correlations at 0 and at the best displacement

const (
	detail       = 8  // least RMS gradient of a row, in levels
	mostDisplace = 48 // samples
	leastFrames  = 5
)

// newTape returns nil if the size of the picture does not suit tape.
func (b *Bars) newTape() *tape {
	junk := b.junk(bottom)
	if junk == 0 || b.facts.Format.Width < 4*mostDisplace {
		return nil
	}
	return &tape{from: b.facts.Format.Height - 3*junk, rows: make([][]resemblance, 3*junk)}
}

// add measures a frame.
func (s *tape) add(b *Bars, f *pipeline.Frame) {
	s.addTop(b, f)
	lines := make([][]float64, len(s.rows)+2)
	for i := range lines {
		b.read(f, s.from-2+i)
		lines[i] = slopes(b.line)
	}
	for i := range s.rows {
		above, row := lines[i], lines[i+2]
		if rms(above) < detail || rms(row) < detail {
			continue
		}
		r := resemblance{here: correlation(above, row, 0)}
		for d := -mostDisplace; d <= mostDisplace; d++ {
			if d < -1 || d > 1 {
				r.displaced = max(r.displaced, correlation(above, row, d))
			}
		}
		s.rows[i] = append(s.rows[i], r)
	}
}

func (s *tape) addTop(b *Bars, f *pipeline.Frame) {
	const picture = 8 // rows
	for y := len(s.top); y < len(s.top)+picture; y++ {
		b.read(f, y)
		if b.dark() > few {
			return
		}
	}
	for y := range s.top {
		b.read(f, y)
		s.top[y].seen++
		if dark := b.dark(); dark > 0.95 {
			s.top[y].black++
		} else if dark > 0.25 {
			s.top[y].dark++
		}
	}
}

// dark returns the share of black samples in b.line.
func (b *Bars) dark() float64 {
	n := 0
	for _, v := range b.line {
		if float64(v) <= (b.black+mostBar+4)*unit {
			n++
		}
	}
	return float64(n) / float64(len(b.line))
}

// findTop returns the number of rows at the top outside the picture, or 0 if all are black.
func (s *tape) findTop() (n int) {
	if s == nil {
		return 0
	}
	data := false
	for y, row := range s.top {
		if row.seen < leastFrames || 10*(row.dark+row.black) < 9*row.seen {
			break
		}
		if n = y + 1; row.dark > row.black {
			data = true
		}
	}
	if !data {
		return 0
	}
	return n
}

// slopes returns differences between means of adjacent groups of samples.
func slopes(line []uint16) []float64 {
	const apart = 6
	out := make([]float64, len(line)-2*apart)
	sum := 0
	for x := range apart {
		sum += int(line[x+apart]) - int(line[x])
	}
	for x := range out {
		out[x] = float64(sum) / (unit * apart)
		sum += int(line[x+2*apart]) - 2*int(line[x+apart]) + int(line[x])
	}
	return out
}

func rms(line []float64) float64 {
	sum := 0.0
	for _, v := range line {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(line)))
}

// correlation returns the correlation of a with b displaced by d samples.
func correlation(a, b []float64, d int) float64 {
	a, b = a[max(0, -d):min(len(a), len(a)-d)], b[max(0, d):min(len(b), len(b)+d)]
	var aa, bb, ab float64
	for i, v := range a {
		aa += v * v
		bb += b[i] * b[i]
		ab += v * b[i]
	}
	return ab / math.Sqrt(max(aa*bb, 1e-9))
}

// find returns the first row of head switching, or 0.
func (s *tape) find() int {
	if s == nil {
		return 0
	}
	usual := make([]float64, len(s.rows)) // median resemblance of each row
	for i, row := range s.rows {
		if len(row) < leastFrames {
			usual[i] = 1
			continue
		}
		var all []float64
		for _, r := range row {
			all = append(all, r.here)
		}
		usual[i] = quantile(all, 0.5)
	}
	picture := len(s.rows) * 2 / 3
	least := quantile(usual[:picture], 0.1)
	if least < 0.5 {
		return 0 // rows of the picture itself differ as much
	}
	const broken, noisy = 0.35, 0.15
	for i := picture - 2; i+3 < len(s.rows); i++ {
		if !s.breaks(i, least-broken) || !s.breaks(i+1, least-broken) {
			continue
		}
		noise := !slices.ContainsFunc(usual[i+2:], func(r float64) bool { return r > least-noisy })
		if noise || s.displaced(i) && s.displaced(i+1) {
			return s.from + i
		}
	}
	return 0
}

// breaks reports whether a row differs from the previous row of its field in most frames.
func (s *tape) breaks(i int, limit float64) bool {
	return len(s.rows[i]) >= leastFrames && share(s.rows[i], func(r resemblance) bool { return r.here < limit }) > 0.7
}

// displaced reports whether a row is a displaced copy of the previous row in most frames.
func (s *tape) displaced(i int) bool {
	return share(s.rows[i], func(r resemblance) bool { return r.displaced > max(0.45, r.here+0.25) }) > 0.5
}

func share(all []resemblance, is func(resemblance) bool) float64 {
	n := 0
	for _, r := range all {
		if is(r) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(all)))
}
