package decode

//#include "glue.h"
import "C"

import (
	"math"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

const second = int64(1e6) // times compared across streams are in microseconds

func toMicros(t int64, tb astiav.Rational) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), C.AVRational{C.int(tb.Num()), C.int(tb.Den())}, C.AVRational{1, C.int(second)}))
}

// shiftTimes adds to the times that a packet has.
func shiftTimes(p *astiav.Packet, by int64) {
	if t := p.Pts(); t != av.NoPTS {
		p.SetPts(t + by)
	}
	if t := p.Dts(); t != av.NoPTS {
		p.SetDts(t + by)
	}
}

func micros(t int64, st *C.AVStream) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), st.time_base, C.AVRational{1, C.int(second)}))
}

// packetTime returns the decode time of a packet in microseconds, or NoPTS.
func packetTime(p *astiav.Packet, st *C.AVStream) int64 {
	t := p.Dts()
	if t == av.NoPTS {
		t = p.Pts()
	}
	if t == av.NoPTS {
		return t
	}
	return micros(t, st)
}

func packetEnd(p *astiav.Packet, st *C.AVStream) int64 {
	if p.Pts() == av.NoPTS {
		return av.NoPTS
	}
	return micros(p.Pts()+p.Duration(), st)
}

// timeline repairs frame times: every frame gets one, later than the one before.
type timeline struct {
	step              int64 // usual duration of a frame in the stream's time base, at least 1
	next, last        int64
	started           bool
	untimed           bool  // the container has no times, so missing ones are no damage
	silent, second    int64 // how long frames have had no time; the length of a second
	missing, repaired int64
}

func newTimeline(tb, rate astiav.Rational) timeline {
	t := timeline{step: 1, second: 1}
	if tb.Num() > 0 {
		t.second = int64(tb.Den() / tb.Num())
	}
	if rate.Num() > 0 && tb.Num() > 0 {
		t.step = max(1, int64(C.av_rescale_q(1, C.AVRational{C.int(rate.Den()), C.int(rate.Num())}, C.AVRational{C.int(tb.Num()), C.int(tb.Den())})))
	}
	return t
}

func (t *timeline) stamp(pts, duration int64) (int64, int64) {
	if duration <= 0 {
		duration = t.step
	}
	switch {
	case pts == av.NoPTS:
		// MPEG program and transport streams need a time every 0.7 s only, AVI has none of
		// reordered frames: filling in that much is no damage.
		pts = t.next
		if t.silent += duration; !t.untimed && t.silent > t.second {
			t.missing++
		}
	case t.started && pts <= t.last:
		pts = t.last + 1
		t.repaired++
		t.silent = 0
	default:
		t.silent = 0
	}
	t.started, t.last, t.next = true, pts, pts+duration
	return pts, duration
}

// packetQueue keeps packets of other streams until the video is as far. A call takes time by the
// number of streams, not of packets, since a file can have any number at one time.
type packetQueue struct {
	streams []*streamQueue
	added   int
	bytes   int
}

// streamQueue has the packets of a stream in their order.
type streamQueue struct {
	index   int
	packets []pendingPacket
	due     []due
}

type pendingPacket struct {
	p      *astiav.Packet
	number int // among all that were added
}

// due is the time, in microseconds, of the next packets of a stream. Times ascend.
type due struct {
	time    int64
	packets int
}

// Streams that lie far apart in a file must not fill the memory: beyond this the oldest packets go
// on early.
const (
	maxHeldBytes = 64 << 20
	packetBytes  = 512 // of a packet beside its data
)

func (q *packetQueue) add(p *astiav.Packet, time int64, out func(*astiav.Packet) error) error {
	c := p.Clone()
	i := slices.IndexFunc(q.streams, func(s *streamQueue) bool { return s.index == c.StreamIndex() })
	if i < 0 {
		i, q.streams = len(q.streams), append(q.streams, &streamQueue{index: c.StreamIndex()})
	}
	s, same := q.streams[i], 1
	for ; len(s.due) > 0 && s.due[len(s.due)-1].time > time; s.due = s.due[:len(s.due)-1] {
		same += s.due[len(s.due)-1].packets
	}
	s.due = append(s.due, due{time, same})
	s.packets = append(s.packets, pendingPacket{c, q.added})
	q.added++
	q.bytes += c.Size() + packetBytes
	for q.bytes > maxHeldBytes {
		if err := q.pop(q.oldest(math.MaxInt64), out); err != nil {
			return err
		}
	}
	return nil
}

// oldest returns the stream with the first packet added of all due by t, or nil.
func (q *packetQueue) oldest(t int64) (first *streamQueue) {
	for _, s := range q.streams {
		if len(s.packets) > 0 && s.due[0].time <= t && (first == nil || s.packets[0].number < first.packets[0].number) {
			first = s
		}
	}
	return first
}

// release passes on, in order, the packets that are due by t.
func (q *packetQueue) release(t int64, out func(*astiav.Packet) error) error {
	for s := q.oldest(t); s != nil; s = q.oldest(t) {
		if err := q.pop(s, out); err != nil {
			return err
		}
	}
	return nil
}

func (q *packetQueue) flush(out func(*astiav.Packet) error) error {
	return q.release(math.MaxInt64, out)
}

// pop passes on the next packet of a stream.
func (q *packetQueue) pop(s *streamQueue, out func(*astiav.Packet) error) error {
	p := s.packets[0].p
	s.packets = s.packets[1:]
	if s.due[0].packets--; s.due[0].packets == 0 {
		s.due = s.due[1:]
	}
	q.bytes -= p.Size() + packetBytes
	defer p.Free()
	if out == nil {
		return nil
	}
	return out(p)
}

func (q *packetQueue) drop() {
	for _, s := range q.streams {
		for _, h := range s.packets {
			h.p.Free()
		}
	}
	*q = packetQueue{}
}

// window is the wanted part of the output's clock, in microseconds.
type window struct {
	zero       int64 // where it begins
	start, end int64 // other packets and frames are dropped
}
