package interlace

import (
	"slices"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Judge detects the field order of a video from motion. It ignores the frames' flags. It examines
// consecutive frames at several places of a video.
//
// For two consecutive frames it compares the first bottom field with the second top field, and the
// first top field with the second bottom field. If the top field comes first, the fields of the
// former pair are one field period apart, and the fields of the latter three. In progressive
// frames, both pairs are two periods apart, and the two fields of one frame match best.
type Judge struct {
	places []*place
	last   *Lines // luma of the latest frame: top and bottom
	bottom *Lines
}

// place collects the results from consecutive frames.
type place struct {
	frames, tagged, topFirst int    // all frames, flagged ones, and flagged with the top field first
	votes                    [4]int // pairs of frames, by Content
	repeats                  []repeat
}

// Content is the kind of scan in frames.
type Content int

// The contents.
const (
	Unclear Content = iota
	Progressive
	TopFirst
	BottomFirst
)

// Found is the result of a Judge.
type Found struct {
	Content  Content // from motion, Unclear without enough of it
	Tags     Content // from the flags of all frames, Unclear if they differ
	Telecine bool    // film in 3:2 pulldown: five video frames for four film frames
}

// repeat holds the mean differences between the fields of a frame and of the previous frame, in
// 8-bit levels.
type repeat struct{ top, bottom float64 }

// Cut starts a new place: the next frame does not follow the previous one.
func (j *Judge) Cut() { j.last = nil }

// columns is the approximate number of samples examined in a row.
const columns = 240

// lumaOf copies columns of the luma of a field, in 16 bits.
func lumaOf(f *pipeline.Frame, field plane.Field) *Lines {
	all := ComponentsOf(f, field)
	c := all[0]
	if len(all) > 3 {
		c = all[1] // green
	}
	step := max(1, c.Width/columns)
	p := plane.New((c.Width+step-1)/step, c.Height, 16)
	row := make([]uint16, c.Width)
	for y := range p.Height {
		c.Read(row, 0, y)
		for x, out := 0, p.Row(y); x < p.Width; x++ {
			out[x] = row[x*step] << (16 - c.Depth)
		}
	}
	return &Lines{Planes: []plane.Plane{p}, Bottom: field == plane.Bottom}
}

// Add examines the next frame. It does not keep the frame.
func (j *Judge) Add(f *pipeline.Frame) {
	if f.Height < 8 {
		return
	}
	top, bottom := lumaOf(f, plane.Top), lumaOf(f, plane.Bottom)
	if j.last != nil && (j.last.Planes[0].Width != top.Planes[0].Width || j.last.Planes[0].Height != top.Planes[0].Height) {
		j.last = nil
	}
	if j.last == nil {
		j.places = append(j.places, &place{})
	}
	p := j.places[len(j.places)-1]
	p.frames++
	if f.Interlaced {
		p.tagged++
		if f.TopFieldFirst {
			p.topFirst++
		}
	}
	if j.last != nil {
		p.votes[vote(comb(top, j.bottom), comb(j.last, bottom), comb(j.last, j.bottom))]++
		p.repeats = append(p.repeats, repeat{distance(j.last, top), distance(j.bottom, bottom)})
	}
	j.last, j.bottom = top, bottom
}

// comb returns the mean difference, in 8-bit levels, between the rows of a bottom field and the
// mean of the top field's rows above and below.
func comb(top, bottom *Lines) float64 {
	a, b, sum := top.Planes[0], bottom.Planes[0], uint64(0)
	rows := min(a.Height-1, b.Height)
	for y := range rows {
		above, below, between := a.Row(y), a.Row(y+1), b.Row(y)
		for x := range above {
			d := int(above[x]) + int(below[x]) - 2*int(between[x])
			sum += uint64(max(d, -d))
		}
	}
	return float64(sum) / float64(512*rows*a.Width)
}

func distance(f, g *Lines) float64 {
	sum := uint64(0)
	for i, v := range f.Planes[0].Pix {
		d := int(v) - int(g.Planes[0].Pix[i])
		sum += uint64(max(d, -d))
	}
	return float64(sum) / float64(256*len(f.Planes[0].Pix))
}

// vote judges two consecutive frames. later is the comb between the first bottom field and the
// second top field, earlier between the first top field and the second bottom field, and own
// between the two fields of the first frame.
func vote(later, earlier, own float64) Content {
	const clear, share, levels = 2, 0.02, 0.02
	least := min(later, earlier, own)
	later, earlier, own = later-least, earlier-least, own-least
	switch {
	case max(later, earlier, own) < share*least+levels: // it stands still
		return Unclear
	case earlier > clear*max(later, own):
		return TopFirst
	case later > clear*max(earlier, own):
		return BottomFirst
	case min(later, earlier) > clear*own:
		return Progressive
	}
	return Unclear
}

// Find returns the result for all added frames. Add may follow.
func (j *Judge) Find() (f Found) {
	const leastVotes, clear, leastPlaces = 6, 8, 2
	var votes, places [4]int
	frames, tagged, topFirst, film := 0, 0, 0, 0
	for _, p := range j.places {
		frames, tagged, topFirst = frames+p.frames, tagged+p.tagged, topFirst+p.topFirst
		for c, n := range p.votes {
			votes[c] += n
			if n > 0 && n == slices.Max(p.votes[1:]) {
				places[c]++
			}
		}
		if p.telecined() {
			film++
		}
	}
	switch {
	case frames == 0:
		return f
	case tagged == 0:
		f.Tags = Progressive
	case tagged == frames && topFirst == frames:
		f.Tags = TopFirst
	case tagged == frames && topFirst == 0:
		f.Tags = BottomFirst
	}
	f.Telecine = 2*film > places[TopFirst]+places[BottomFirst]+places[Progressive]
	for c := Progressive; c <= BottomFirst && !f.Telecine; c++ {
		others := votes[Progressive] + votes[TopFirst] + votes[BottomFirst] - votes[c]
		if votes[c] >= leastVotes && votes[c] >= clear*others && places[c] >= min(leastPlaces, len(j.places)) {
			f.Content = c
		}
	}
	return f
}

// cycle is the number of video frames for four film frames.
const cycle = 5

// telecined reports whether one of every five frames repeats the previous top field, and the frame
// two or three later repeats the previous bottom field.
func (p *place) telecined() bool {
	const repeated, moves = 0.3, 0.5
	still := 256.0 // difference from noise alone
	for _, r := range p.repeats {
		still = min(still, r.top, r.bottom)
	}
	for phase := range cycle {
		for _, gap := range []int{2, 3} {
			right, wrong := 0, 0
			for i, r := range p.repeats {
				top, bottom := r.top-still, r.bottom-still
				isTop, isBottom := i%cycle == phase, i%cycle == (phase+gap)%cycle
				repeatsTop, repeatsBottom := top < repeated*bottom, bottom < repeated*top
				switch {
				case max(top, bottom) < moves:
				case isTop != repeatsTop || isBottom != repeatsBottom:
					wrong++
				case isTop || isBottom:
					right++
				}
			}
			if right >= 3 && wrong == 0 {
				return true
			}
		}
	}
	return false
}
