package decode

//#include "glue.h"
import "C"

import (
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// clock maps the container's times to the output's. It adds a shift to all streams and, where the
// clock may jump (MPEG-TS), an offset for each program that changes at each jump. A jump between
// joined recordings is not damage.
type clock struct {
	shift    int64 // microseconds added to every time
	jumpy    bool
	main     *programClock // the video's
	mainFrom int64         // its earliest time
	programs map[int]*programClock
	streams  map[int]*streamClock
	joints   []int64 // times of the main program's jumps, on the output's clock
	end      int64   // latest end of a packet, in the container's time
}

// programClock is the clock of a program.
type programClock struct {
	offsets []int64 // microseconds added to its times: at first, and after each jump
}

// streamClock is a stream. Its times are the container's, in microseconds.
type streamClock struct {
	program *programClock
	kind    astiav.MediaType
	used    bool
	epoch   int   // index of the latest packet's offset
	jumped  bool  // the packet before had another offset
	last    int64 // decode time of the latest packet
	next    int64 // when the next one is due
	shown   int64 // latest end of presentation
	pos     int64 // of the latest packet
}

// queuedPacket is a packet that was read ahead.
type queuedPacket struct {
	p      *astiav.Packet
	stream int // by FFmpeg
	clock  *streamClock
	at     int64 // decode time in microseconds, or else presentation time
	exact  bool  // at is a decode time
	pts    int64
	length int64
	pos    int64
	key    bool
	marked bool // as damaged
	epoch  int  // index of its offset; below 0: the program's latest
	sure   bool // it was judged
}

const (
	// A longer gap is a jump of the clock rather than a pause, as in the ffmpeg program.
	jumpThreshold = 10 * second

	// The streams of a program reach a jump within straggle of each other. After enoughSeen, a
	// stream does not jump.
	straggle   = 5 * second
	enoughSeen = 3 * second / 2
)

func newClock(fc *astiav.FormatContext) clock {
	format := (*C.AVFormatContext)(av.FormatPtr(fc)).iformat
	return clock{jumpy: format.flags&C.AVFMT_TS_DISCONT != 0, streams: map[int]*streamClock{}, programs: map[int]*programClock{}, end: av.NoPTS}
}

// place puts a packet's times on the output's clock.
func (c *clock) place(p *astiav.Packet, st *C.AVStream, offset int64) {
	shiftTimes(p, int64(C.av_rescale_q(C.int64_t(c.shift+offset), C.AVRational{1, C.int(second)}, st.time_base)))
}

// media reports whether the stream is dense enough to show jumps.
func (l *streamClock) media() bool {
	return l.kind == astiav.MediaTypeVideo || l.kind == astiav.MediaTypeAudio
}

func (l *streamClock) video() bool { return l.kind == astiav.MediaTypeVideo }

// breaks reports whether a packet does not follow the one before. Decode times go back by rounding
// alone, presentation times where frames are reordered.
func (l *streamClock) breaks(e *queuedPacket) bool { return l.apart(e, second/1000) }

// hard reports whether a break is certainly a jump of the clock, without a look at other streams.
func (l *streamClock) hard(e *queuedPacket) bool { return l.apart(e, second/10) }

// apart reports whether a packet is far from the one before: back is the most by which decode times
// may go back.
func (l *streamClock) apart(e *queuedPacket, back int64) bool {
	if !e.exact {
		back = second
	}
	d := e.at - l.last
	return d > jumpThreshold || d < -back
}

func (l *streamClock) follow(e *queuedPacket, epoch int) {
	same := l.used && epoch == l.epoch
	length := e.length
	if length <= 0 && same {
		length = max(0, e.at-l.last)
	}
	if !same {
		l.shown = math.MinInt64
	}
	if e.pts != av.NoPTS {
		l.shown = max(l.shown, e.pts+length)
	}
	l.used, l.epoch, l.last, l.next = true, epoch, e.at, e.at+length
}

// latest returns the index of the offset of new packets.
func (p *programClock) latest() int { return len(p.offsets) - 1 }

// take returns the offset of the next packet.
func (c *clock) take(e *queuedPacket) int64 {
	l := e.clock
	c.begin(e)
	epoch := e.epoch
	if epoch < 0 {
		epoch = l.program.latest()
	}
	l.jumped = l.used && epoch != l.epoch
	if e.at != av.NoPTS {
		l.follow(e, epoch)
	}
	return l.program.offsets[epoch]
}

// jumped reports whether a stream's latest packet is the first of another recording.
func (c *clock) jumped(stream int) bool {
	l := c.streams[stream]
	return l != nil && l.jumped
}

// begin sets the clock of a program at its first packet. Programs are broadcast at the same time,
// so a clock far from the main one is aligned with it.
func (c *clock) begin(e *queuedPacket) (moved int64) {
	p := e.clock.program
	if len(p.offsets) > 0 {
		return 0
	}
	offset := c.main.offsets[c.main.latest()]
	if p != c.main && e.at != av.NoPTS {
		if d := c.now() - (e.at + offset); d > jumpThreshold || d < -jumpThreshold {
			moved = d
		}
	}
	p.offsets = []int64{offset + moved}
	return moved
}

// now returns the latest time of the main program, with its offset.
func (c *clock) now() int64 {
	now := int64(math.MinInt64)
	for _, l := range c.streams {
		if l.used && l.program == c.main && l.media() {
			now = max(now, l.last+c.main.offsets[l.epoch])
		}
	}
	if now == math.MinInt64 {
		return c.mainFrom
	}
	return now
}

// doubtful reports whether the next packet can be judged only by later ones.
func (c *clock) doubtful(e *queuedPacket) bool {
	l := e.clock
	if e.sure || e.at == av.NoPTS {
		return false
	}
	if e.marked {
		return true
	}
	if !l.media() || !l.used {
		return false
	}
	return l.epoch == l.program.latest() && (e.epoch < 0 || e.epoch == l.epoch) && l.breaks(e)
}

// view is a stream in the packets that were read ahead.
type view struct {
	streamClock       // before the break
	broke, after int  // the entry that breaks, or -1; number of packets from there on
	hard         bool // the break is no rounding
	from, least  int64
	gap          int64       // of decode times at the break
	later        streamClock // after the break
	passed       int64       // time without a break
	widest       int64       // longest step in that time
	marks        int         // the last marked entry before the break, or -1
	restart      int         // the entry behind it, or -1
	key          bool        // restart or the next entry is a key frame
	regular      bool        // and both follow without a gap
	restarted    int         // entries behind restart that were examined
}

// survey examines the packets of the first packet's program, to the end of the returned part. If
// settled is false, more packets are needed.
func (c *clock) survey(queue []*queuedPacket) (views map[*streamClock]*view, part []*queuedPacket, settled bool) {
	head := queue[0]
	views = map[*streamClock]*view{}
	begin := int64(math.MinInt64)
	for _, l := range c.streams {
		if l.used && l.media() && l.program == head.clock.program {
			begin = max(begin, l.last)
		}
	}
	for _, l := range c.streams {
		if l.used && l.media() && l.program == head.clock.program && begin-l.last < straggle {
			views[l] = &view{streamClock: *l, broke: -1, marks: -1, restart: -1}
		}
	}
	for i, e := range queue {
		if e.clock.program != head.clock.program || !e.clock.media() || e.at == av.NoPTS {
			continue
		}
		v := views[e.clock]
		if v == nil {
			v = &view{streamClock: *e.clock, broke: -1, marks: -1, restart: -1}
			views[e.clock] = v
		}
		if !v.see(i, e) {
			return views, queue[:i], true // the first is always seen
		}
	}
	for _, v := range views {
		if !v.settled() {
			return views, queue, false
		}
	}
	return views, queue, true
}

// see adds a packet. It returns false at the next jump, which is judged separately.
func (v *view) see(i int, e *queuedPacket) bool {
	epoch := max(e.epoch, v.epoch)
	switch {
	case v.broke >= 0:
		if v.later.breaks(e) || e.at-v.from > straggle {
			return false
		}
		v.later.follow(e, 0)
		v.after++
		if e.pts != av.NoPTS {
			v.least = min(v.least, e.pts)
		}
		return true
	case v.used && epoch == v.epoch && v.breaks(e):
		v.broke, v.after, v.hard, v.gap = i, 1, v.streamClock.hard(e), e.at-v.last
		v.from, v.least = e.at, e.at
		if e.pts != av.NoPTS {
			v.least = e.pts
		}
		v.later.follow(e, 0)
		return true
	}
	switch {
	case e.marked:
		v.marks, v.restart, v.restarted = i, -1, 0
	case v.marks >= 0 && v.restart < 0:
		v.restart, v.key, v.regular = i, e.key, v.onTime(e)
	case v.restart >= 0 && !v.key && v.restarted == 0:
		v.key, v.regular = e.key, v.regular && v.onTime(e)
		v.restarted++
	}
	if v.used && epoch == v.epoch {
		v.passed += max(0, e.at-v.last)
		v.widest = max(v.widest, e.at-v.last)
	}
	v.follow(e, epoch)
	return v.passed <= straggle
}

// onTime reports whether a packet comes when it is due.
func (v *view) onTime(e *queuedPacket) bool {
	off := e.at - v.next
	return 2*max(off, -off) <= max(e.length, v.next-v.last)+second/1000
}

// settled reports whether the stream has had enough packets to be judged.
func (v *view) settled() bool {
	const reordered = 4
	switch {
	case v.broke >= 0:
		return !v.video() || v.after >= reordered
	case v.marks >= 0:
		return v.restart >= 0 && v.passed >= enoughSeen/2
	}
	return v.passed >= enoughSeen
}

// judge decides whether recordings are joined in the packets read ahead, and sets their offsets.
func (c *clock) judge(queue []*queuedPacket) (joined bool) {
	head := queue[0]
	head.sure = true
	views, part, _ := c.survey(queue)
	broken, certain, goesOn, jump := 0, false, false, int64(0)
	for _, v := range views {
		switch {
		case v.broke >= 0:
			broken++
			// Sound that goes back overlaps. Pictures may be rounded.
			certain = certain || v.hard || !v.video() || part[v.broke].key
			jump = max(jump, v.gap, -v.gap)
		case v.passed >= enoughSeen && v.widest < second:
			goesOn = true
		}
	}
	switch {
	case broken == 0:
		c.forgiveRestart(views, part)
		return false
	case goesOn && jump > second: // one stream has a pause, or is damaged
		return false
	case !certain && broken < 2: // rounding
		return false
	}
	c.join(head.clock.program, views, part)
	c.forgiveRestart(views, part)
	return true
}

// join sets the offset behind a jump so that no stream overlaps.
func (c *clock) join(p *programClock, views map[*streamClock]*view, part []*queuedPacket) {
	first, pos, from, offset := len(part), int64(-1), int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range views {
		if v.broke < 0 {
			continue
		}
		first, from = min(first, v.broke), min(from, v.from)
		if at := part[v.broke].pos; at >= 0 && (pos < 0 || at < pos) {
			pos = at
		}
		offset = max(offset, v.next+p.offsets[v.epoch]-v.from)
		if v.video() && v.shown != math.MinInt64 {
			offset = max(offset, v.shown+p.offsets[v.epoch]-v.least)
		}
	}
	p.offsets = append(p.offsets, offset)
	for i, e := range part {
		if e.clock.program != p {
			continue
		}
		behind := i >= first
		if v := views[e.clock]; v != nil && v.broke >= 0 {
			behind = i >= v.broke
		} else if pos >= 0 && e.pos >= 0 {
			behind = e.pos >= pos
		}
		if behind {
			e.epoch = p.latest()
		} else if e.epoch < 0 {
			e.epoch = p.latest() - 1
		}
	}
	for _, v := range views {
		if v.broke >= 0 {
			forgive(part, v.broke, part[v.broke].clock)
		}
	}
	for _, e := range part {
		if e.clock.program == p && !e.clock.media() {
			e.forgive()
		}
	}
	if p == c.main {
		c.joints = append(c.joints, from+offset+c.shift)
	}
}

// forgiveRestart finds recordings joined without a jump: packet counters restart at a key frame, so
// FFmpeg marks intact packets as damaged, and all streams continue without a gap.
func (c *clock) forgiveRestart(views map[*streamClock]*view, part []*queuedPacket) {
	joined := false
	for _, v := range views {
		if v.broke >= 0 {
			continue
		}
		if v.marks >= 0 && (v.restart < 0 || !v.regular) {
			return
		}
		joined = joined || v.video() && v.marks >= 0 && v.key
	}
	if !joined {
		return
	}
	for _, v := range views {
		if v.marks >= 0 && v.broke < 0 {
			forgive(part, v.restart, part[v.restart].clock)
		}
	}
}

// forgive clears the marks of a stream's packets around the first one of a recording: back to the
// second unmarked packet before it, and one packet behind it.
func forgive(part []*queuedPacket, begin int, l *streamClock) {
	gaps := 0
	for i := begin - 1; i >= 0 && gaps < 2; i-- {
		if part[i].clock != l {
			continue
		}
		if !part[i].marked {
			gaps++
		}
		part[i].forgive()
	}
	for i, n := begin, 0; i < len(part) && n < 2; i++ {
		if part[i].clock == l {
			part[i].forgive()
			n++
		}
	}
}

func (e *queuedPacket) forgive() {
	if e.marked {
		e.marked = false
		if e.p != nil {
			e.p.SetFlags(e.p.Flags().Del(astiav.PacketFlagCorrupt))
		}
	}
}
