package decode

import (
	"slices"

	"vidfilter/internal/av"
)

// gaps finds places where frames are missing in a video of constant rate: except at a gap, frames
// are one step apart, up to the container's rounding. Sound that goes on through a gap shows that
// the pictures were never recorded.
type gaps struct {
	first   int64 // PTS of the first frame
	last    int64 // PTS of the latest
	frames  int64
	steps   map[int64]int64 // count of frames so far apart
	wide    []missingFrames // steps much longer than the shortest so far
	sound   map[int]*sound
	tooMany bool
	strict  bool // no frame is ever left out, neither for a pause nor for a still
}

// missingFrames is the time between a frame and the one before it.
type missingFrames struct {
	frame      int64 // frames before it
	begin, end int64 // in the unit of the stream
}

// sound is an audio stream, in microseconds.
type sound struct {
	first, last int64
	longest     int64 // from one packet to the next, without silences
	silences    [][2]int64
}

// Beyond these bounds a video has no constant rate.
const (
	mostSteps = 64
	mostWide  = 1000
)

func (g *gaps) video(pts int64) {
	if pts == av.NoPTS || g.tooMany {
		return
	}
	if g.frames > 0 {
		g.step(pts)
	} else {
		g.first = pts
	}
	g.last = pts
	g.frames++
}

func (g *gaps) step(pts int64) {
	step := pts - g.last
	if g.steps == nil {
		g.steps = map[int64]int64{}
	}
	g.steps[step]++
	for s := range g.steps {
		if 2*step > 3*s && s > 0 {
			g.wide = append(g.wide, missingFrames{g.frames, g.last, pts})
			break
		}
	}
	g.tooMany = len(g.steps) > mostSteps || len(g.wide) > mostWide
}

// audio records a packet of sound, in microseconds.
func (g *gaps) audio(stream int, t int64) {
	if t == av.NoPTS {
		return
	}
	if g.sound == nil {
		g.sound = map[int]*sound{}
	}
	s := g.sound[stream]
	if s == nil {
		g.sound[stream] = &sound{first: t, last: t}
		return
	}
	const least = second / 16 // longer than any packet of a codec with uneven packets
	switch step := t - s.last; {
	case s.longest == 0, step <= least, 2*step <= 3*s.longest:
		s.longest = max(s.longest, step)
	case len(s.silences) < mostWide:
		s.silences = append(s.silences, [2]int64{s.last, t})
	}
	s.last = max(s.last, t)
}

// usual returns the most frequent step, or 0.
func (g *gaps) usual() int64 {
	var usual, n int64
	for step, times := range g.steps {
		if times > n || times == n && step < usual {
			usual, n = step, times
		}
	}
	return usual
}

// count returns the number of gaps, except where recordings are joined. toMicros converts
// the stream's unit to microseconds, in which joints are.
func (g *gaps) count(toMicros func(int64) int64, joints []int64) (n int64) {
	const fewest = 8 // frames that make a rate
	usual := g.usual()
	if g.tooMany || usual <= 0 || g.frames < fewest {
		return 0
	}
	slack := max(2, usual/10)
	var wide int64
	for step, times := range g.steps {
		switch {
		case 2*step > 3*usual:
			wide += times
		case step < usual-slack || step > usual+slack:
			return 0
		}
	}
	if wide > max(2, g.frames/10) {
		return 0
	}
	for i, w := range g.wide {
		begin, end := toMicros(w.begin), toMicros(w.end)
		joined := slices.ContainsFunc(joints, func(t int64) bool { return begin <= t+second && end >= t-second })
		meant := joined || !g.strict && (!g.flanked(i) || g.heard(begin, end))
		if 2*(w.end-w.begin) > 3*usual && !meant {
			n++
		}
	}
	return n
}

// flanked reports whether frames follow each other on both sides of a gap: a frame that lasts long
// at the beginning or the end is a still.
func (g *gaps) flanked(i int) bool {
	const least = 2
	before, after := int64(0), g.frames
	if i > 0 {
		before = g.wide[i-1].frame
	}
	if i+1 < len(g.wide) {
		after = g.wide[i+1].frame
	}
	return g.wide[i].frame-before >= least && after-g.wide[i].frame >= least
}

// heard reports whether there is sound throughout a gap. Data missing from a file is missing from
// all streams, though not at exactly the same time.
func (g *gaps) heard(begin, end int64) bool {
	for _, s := range g.sound {
		near := func(silence [2]int64) bool { return silence[0] < end+second && silence[1] > begin-second }
		if s.first <= begin && s.last >= end && !slices.ContainsFunc(s.silences, near) {
			return true
		}
	}
	return false
}
