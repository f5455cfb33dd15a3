package decode

//#include "glue.h"
import "C"

import (
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// movedStreams follows streams that a broadcast moves to another PID, or that go on in a joined
// recording.
// FFmpeg makes each a new stream; here it continues the first one.
type movedStreams struct {
	opened int           // number of streams known on opening; 0 before
	from   map[int]int   // first stream, by the stream that it moved to
	now    map[int]int   // present stream, by the first one
	seen   map[int]bool  // streams with a packet since opening
	aside  map[int]bool  // streams that cannot be tracks: see putAside
	told   map[int]bool  // late streams that a warning has named
	stale  map[int]int   // number of a stream's packets that finishStream has read early
	ends   int           // number of streams that moved
	lost   map[int]int64 // last decode time, by stream whose last packets could not be read
}

// first returns the stream that i continues, which is mostly i itself.
func (m *movedStreams) first(i int) int {
	if f, ok := m.from[i]; ok {
		return f
	}
	return i
}

// line returns a first stream and the streams that continue it.
func (m *movedStreams) line(i int) []int {
	line := []int{i}
	for s, f := range m.from {
		if f == i {
			line = append(line, s)
		}
	}
	return line
}

func (m *movedStreams) at(first int) int {
	if i, ok := m.now[first]; ok {
		return i
	}
	return first
}

func (m *movedStreams) move(first, to int) {
	setIn(&m.from, to, first)
	setIn(&m.now, first, to)
}

// come handles the stream of the packet just read, and returns the streams that end there. At its
// first packet, a stream continues a similar followed one that its program no longer lists. It may
// also return to its former PID.
func (m *movedStreams) come(s containerStreams, i int, followed func(int) bool) (ends []int) {
	if at := m.at(m.first(i)); m.opened > 0 && at != i && s.listed(i) && !s.listed(at) {
		setIn(&m.now, m.first(i), i)
		ends = append(ends, at)
	}
	if m.opened == 0 || m.seen[i] {
		return ends
	}
	setIn(&m.seen, i, true)
	if m.first(i) != i || !s.movable(i) {
		return ends
	}
	var ended []int
	for f := range m.opened {
		if f != i && m.first(f) == f && followed(f) && s.alike(f, i) && !slices.ContainsFunc(m.line(f), s.listed) {
			ended = append(ended, f)
		}
	}
	if f := s.pick(i, ended); f >= 0 && s.listed(i) {
		ends = append(ends, m.at(f))
		m.move(f, i)
	}
	return ends
}

// isStale reports whether FFmpeg held a packet of a moved stream back until now.
func (m *movedStreams) isStale(p *astiav.Packet, st *C.AVStream) bool {
	i := p.StreamIndex()
	if m.stale[i] > 0 {
		m.stale[i]--
		return true
	}
	ended, ok := m.lost[i]
	if !ok {
		return false
	}
	if late := micros(wrapped33(p.Dts()-ended), st); p.Dts() == av.NoPTS || late > 0 && late < second/2 {
		return true
	}
	delete(m.lost, i)
	return false
}

// wrapped33 returns a difference of MPEG times, which have 33 bits.
func wrapped33(d int64) int64 {
	const half = 1 << 32
	return (d+half)&(2*half-1) - half
}
