package decode

//#include "glue.h"
import "C"

import (
	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

const second = int64(1e6) // times that are compared across streams are in microseconds

func toMicros(t int64, tb astiav.Rational) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), C.AVRational{C.int(tb.Num()), C.int(tb.Den())}, C.AVRational{1, C.int(second)}))
}

func fromMicros(t int64, tb C.AVRational) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), C.AVRational{1, C.int(second)}, tb))
}

func micros(t int64, st *C.AVStream) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), st.time_base, C.AVRational{1, C.int(second)}))
}

// packetTime returns when a packet is decoded, in microseconds, or NoPTS.
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

// clock maps the container's times to the output's: a shift for all streams alike, and, in containers
// whose clock may jump (MPEG-TS), whatever closes the jumps.
type clock struct {
	shift  int64 // microseconds added to every time
	jumpy  bool
	offset int64 // the latest correction
	lanes  map[int]*lane
	end    int64 // the latest end of a packet as the container has it
	jumps  int64
}

type lane struct {
	offset int64
	last   int64 // decode time of the latest packet, corrected
	next   int64 // when the one after it is due
	used   bool
}

// A gap beyond this is a jump of the clock rather than a pause, as in the ffmpeg program.
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
		c.follow(l, packetTime(p, st), micros(p.Duration(), st))
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

// follow keeps one stream's clock going. A stream that jumps takes the correction that another stream found
// for the same jump, so that both stay in step; else it finds one.
func (c *clock) follow(l *lane, t, duration int64) {
	if t == av.NoPTS {
		return
	}
	near := func(offset int64) bool {
		d := t + offset - l.last
		return d > -jumpThreshold && d < jumpThreshold
	}
	if l.used && !near(l.offset) {
		if !near(c.offset) {
			c.offset = l.next - t
			c.jumps++
		}
		l.offset = c.offset
	}
	if t += l.offset; duration <= 0 && l.used {
		duration = max(0, t-l.last)
	}
	l.used, l.last, l.next = true, t, t+duration
}

// timeline gives every frame a time of its own that is later than the one before.
type timeline struct {
	step              int64 // a frame's usual duration in the stream's time base, at least 1
	next, last        int64
	started           bool
	untimed           bool  // the container has no times at all, so their absence is no damage
	silent, second    int64 // how long no frame has had a time; what a second is
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
		// MPEG program and transport streams need a time every 0.7 s only, AVI has none of reordered
		// frames: what is filled in between is no damage, beyond that it is.
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

// packetQueue holds packets of other streams until the video has come as far.
type packetQueue struct {
	packets []heldPacket
	bytes   int
}

type heldPacket struct {
	p    *astiav.Packet
	time int64 // microseconds
}

// A file whose streams lie far apart must not fill the memory: beyond this the oldest go on early.
const maxHeldBytes = 64 << 20

func (q *packetQueue) add(p *astiav.Packet, time int64, out func(*astiav.Packet) error) error {
	c := p.Clone()
	q.packets = append(q.packets, heldPacket{c, time})
	q.bytes += c.Size()
	for q.bytes > maxHeldBytes {
		if err := q.pop(0, out); err != nil {
			return err
		}
	}
	return nil
}

// release passes on, in order, what lies no later than t.
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
