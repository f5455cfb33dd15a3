package decode

//#include "glue.h"
import "C"

import (
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

const second = int64(1e6) // times compared across streams are in microseconds

func toMicros(t int64, tb astiav.Rational) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), C.AVRational{C.int(tb.Num()), C.int(tb.Den())}, C.AVRational{1, C.int(second)}))
}

func fromMicros(t int64, tb C.AVRational) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), C.AVRational{1, C.int(second)}, tb))
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

// clock maps the container's times to the output's: a shift of all streams and, in containers
// whose clock may jump (MPEG-TS), corrections that close the jumps. Joined recordings jump, and
// are no damage.
type clock struct {
	shift  int64 // microseconds added to every time
	jumpy  bool
	offset int64   // the latest correction
	joints []int64 // times of its jumps, on the output's clock
	lanes  map[int]*lane
	end    int64 // latest end of a packet, in the container's time
}

type lane struct {
	offset int64
	first  int64 // decode time of the first packet since it jumped, corrected
	last   int64 // of the latest packet
	next   int64 // when the next packet is due
	used   bool
	jumped bool // with the latest packet
	marked int  // above 0 if one of the latest packets is marked as damaged
}

// A longer gap is a jump of the clock rather than a pause, as in the ffmpeg program.
const jumpThreshold = 10 * second

func newClock(fc *astiav.FormatContext) clock {
	format := (*C.AVFormatContext)(av.FormatPtr(fc)).iformat
	return clock{jumpy: format.flags&C.AVFMT_TS_DISCONT != 0, lanes: map[int]*lane{}, end: av.NoPTS}
}

func (c *clock) adjust(p *astiav.Packet, st *C.AVStream) {
	l := c.lanes[p.StreamIndex()]
	if l == nil {
		l = &lane{offset: c.offset}
		c.lanes[p.StreamIndex()] = l
	}
	if kind := st.codecpar.codec_type; c.jumpy && (kind == C.AVMEDIA_TYPE_VIDEO || kind == C.AVMEDIA_TYPE_AUDIO) {
		l.jumped = false
		c.follow(l, packetTime(p, st), micros(p.Duration(), st), p.Dts() != av.NoPTS)
	}
	if by := fromMicros(c.shift+l.offset, st.time_base); by != 0 {
		if p.Pts() != av.NoPTS {
			p.SetPts(p.Pts() + by)
		}
		if p.Dts() != av.NoPTS {
			p.SetDts(p.Dts() + by)
		}
	}
}

// follow keeps a stream's clock continuous. The first stream to jump finds a correction by which
// nothing overlaps; the others take it over as they come to the same jump, so that all stay in
// step.
func (c *clock) follow(l *lane, t, duration int64, decode bool) {
	if t == av.NoPTS {
		return
	}
	const straggle = 5 * second // no stream comes to a jump later than this
	if l.used && l.offset != c.offset &&
		(distance(t+c.offset, l.next) <= distance(t+l.offset, l.next) || c.latest()+c.shift > c.joints[len(c.joints)-1]+straggle) {
		l.jump(c.offset)
	}
	if d := t + l.offset - l.last; l.used && (d > jumpThreshold || d < -backThreshold(decode)) {
		joint := min(c.latest(), l.first+c.longest())
		c.joints = append(c.joints, joint+c.shift)
		c.offset = joint - t
		l.jump(c.offset)
	}
	if t += l.offset; duration <= 0 && l.used {
		duration = max(0, t-l.last)
	}
	if !l.used || l.jumped {
		l.first = t
	}
	l.used, l.last, l.next = true, t, t+duration
}

func (l *lane) jump(offset int64) { l.offset, l.jumped = offset, true }

// backThreshold is how far a stream's times may go back before it counts as a jump. Decode times
// never go back, but for the rounding of bad muxers; presentation times do by as much as frames
// are reordered.
func backThreshold(decode bool) int64 {
	if decode {
		return second / 10
	}
	return second
}

// latest returns when the furthest stream goes on.
func (c *clock) latest() int64 {
	next := int64(math.MinInt64)
	for _, l := range c.lanes {
		if l.used {
			next = max(next, l.next)
		}
	}
	return next
}

// longest returns the longest time of a stream since the latest jump. A stream whose decode times
// begin before the others' does so again after a jump.
func (c *clock) longest() (length int64) {
	for _, l := range c.lanes {
		if l.used && l.offset == c.offset {
			length = max(length, l.next-l.first)
		}
	}
	return length
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

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

// packetQueue keeps packets of other streams until the video is as far.
type packetQueue struct {
	packets []pendingPacket
	bytes   int
}

// pendingPacket is due at a time, in microseconds, never later than the next of its stream.
type pendingPacket struct {
	p    *astiav.Packet
	time int64
}

// Streams that lie far apart in a file must not fill the memory: beyond this the oldest packets go
// on early.
const maxHeldBytes = 64 << 20

func (q *packetQueue) add(p *astiav.Packet, time int64, out func(*astiav.Packet) error) error {
	c := p.Clone()
	for i := len(q.packets) - 1; i >= 0; i-- {
		if h := &q.packets[i]; h.p.StreamIndex() == c.StreamIndex() {
			if h.time <= time {
				break
			}
			h.time = time
		}
	}
	q.packets = append(q.packets, pendingPacket{c, time})
	q.bytes += c.Size()
	for q.bytes > maxHeldBytes {
		if err := q.pop(0, out); err != nil {
			return err
		}
	}
	return nil
}

// release passes on, in order, the packets that are due by t.
func (q *packetQueue) release(t int64, out func(*astiav.Packet) error) error {
	for i := 0; i < len(q.packets); {
		if q.packets[i].time > t {
			i++
			continue
		}
		if err := q.pop(i, out); err != nil {
			return err
		}
	}
	return nil
}

func (q *packetQueue) flush(out func(*astiav.Packet) error) error {
	for len(q.packets) > 0 {
		if err := q.pop(0, out); err != nil {
			return err
		}
	}
	return nil
}

func (q *packetQueue) pop(i int, out func(*astiav.Packet) error) error {
	p := q.packets[i].p
	q.packets = append(q.packets[:i], q.packets[i+1:]...)
	q.bytes -= p.Size()
	defer p.Free()
	if out == nil {
		return nil
	}
	return out(p)
}

func (q *packetQueue) drop() {
	for _, h := range q.packets {
		h.p.Free()
	}
	*q = packetQueue{}
}
