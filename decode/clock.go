package decode

//#include "glue.h"
import "C"

import (
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// clock maps the container's times to the output's: a shift of all streams and, in containers
// whose clock may jump (MPEG-TS), an offset of each program, which changes with a jump. All streams
// of a program take the same offset, so they stay in step. Joined recordings jump, and are no
// damage.
type clock struct {
	shift    int64 // microseconds added to every time
	jumpy    bool
	main     *program // the video's
	mainFrom int64    // its earliest time
	programs map[int]*program
	lanes    map[int]*lane
	joints   []int64 // times of the main program's jumps, on the output's clock
	end      int64   // latest end of a packet, in the container's time
}

// program is the clock of a program.
type program struct {
	offsets []int64 // microseconds added to its times: at first, and after each jump
}

// lane is a stream. Its times are the container's, in microseconds.
type lane struct {
	program *program
	kind    astiav.MediaType
	used    bool
	epoch   int   // of the latest packet: the offset that it has
	jumped  bool  // the packet before had another
	last    int64 // decode time of the latest packet
	next    int64 // when the next one is due
	shown   int64 // end of what is shown last
	pos     int64 // of the latest packet
}

// entry is a packet that was read ahead.
type entry struct {
	p      *astiav.Packet
	stream int // by FFmpeg
	lane   *lane
	at     int64 // decode time in microseconds; presentation time if there is none
	exact  bool  // at is a decode time
	pts    int64
	length int64
	pos    int64
	key    bool
	marked bool // as damaged
	epoch  int  // the offset that it has; below 0: the program's latest
	sure   bool // it was judged
}

const (
	// A longer gap is a jump of the clock rather than a pause, as in the ffmpeg program.
	jumpThreshold = 10 * second

	// How far around a jump the streams of a program come to it, and how long one that does not
	// jump is watched.
	straggle = 5 * second
	patience = 3 * second / 2
)

func newClock(fc *astiav.FormatContext) clock {
	format := (*C.AVFormatContext)(av.FormatPtr(fc)).iformat
	return clock{jumpy: format.flags&C.AVFMT_TS_DISCONT != 0, lanes: map[int]*lane{}, programs: map[int]*program{}, end: av.NoPTS}
}

// place puts a packet's times on the output's clock.
func (c *clock) place(p *astiav.Packet, st *C.AVStream, offset int64) {
	by := fromMicros(c.shift+offset, st.time_base)
	if by == 0 {
		return
	}
	if p.Pts() != av.NoPTS {
		p.SetPts(p.Pts() + by)
	}
	if p.Dts() != av.NoPTS {
		p.SetDts(p.Dts() + by)
	}
}

// media reports whether jumps show in the stream.
func (l *lane) media() bool {
	return l.kind == astiav.MediaTypeVideo || l.kind == astiav.MediaTypeAudio
}

func (l *lane) video() bool { return l.kind == astiav.MediaTypeVideo }

// breaks reports whether a packet does not follow the one before. Decode times never go back, but
// for the rounding of bad muxers; presentation times do by as much as frames are reordered.
func (l *lane) breaks(e *entry) bool {
	back := second
	if e.exact {
		back = second / 1000
	}
	d := e.at - l.last
	return d > jumpThreshold || d < -back
}

// hard reports whether a break is a jump of the clock whatever the other streams do.
func (l *lane) hard(e *entry) bool {
	back := second
	if e.exact {
		back = second / 10
	}
	d := e.at - l.last
	return d > jumpThreshold || d < -back
}

func (l *lane) follow(e *entry, epoch int) {
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

// latest returns the offset that new packets have.
func (p *program) latest() int { return len(p.offsets) - 1 }

// take returns the offset of the packet that is next.
func (c *clock) take(e *entry) int64 {
	l := e.lane
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
	l := c.lanes[stream]
	return l != nil && l.jumped
}

// begin sets the clock of a program when its first packet comes. One that has little to do with the
// main program's is moved onto that: both are broadcast at the same time.
func (c *clock) begin(e *entry) (moved int64) {
	p := e.lane.program
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

// now returns how far the main program has come, with its offset.
func (c *clock) now() int64 {
	now := int64(math.MinInt64)
	for _, l := range c.lanes {
		if l.used && l.program == c.main && l.media() {
			now = max(now, l.last+c.main.offsets[l.epoch])
		}
	}
	if now == math.MinInt64 {
		return c.mainFrom
	}
	return now
}

// doubtful reports whether later packets must tell what to make of the one that is next.
func (c *clock) doubtful(e *entry) bool {
	l := e.lane
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

// view is what packets read ahead tell of a stream.
type view struct {
	lane              // as it is before it breaks
	broke, after int  // the entry that breaks, -1 if there is none; packets from there on
	hard         bool // that is no rounding
	from, least  int64
	gap          int64 // between the decode times there
	later        lane  // as it is after it broke
	passed       int64 // how long it goes on without a break
	widest       int64 // longest step until then
	marks        int   // the last entry that is marked before it breaks, -1 if there is none
	restart      int   // the one behind
	key          bool  // that or the next is a key frame
	regular      bool  // and follows without a gap
	restarted    int   // packets behind it that were looked at
}

// survey looks at the packets of the first one's program, up to the end of the returned part. It is
// settled if more packets would tell no more.
func (c *clock) survey(queue []*entry) (views map[*lane]*view, part []*entry, settled bool) {
	head := queue[0]
	views = map[*lane]*view{}
	begin := int64(math.MinInt64)
	for _, l := range c.lanes {
		if l.used && l.media() && l.program == head.lane.program {
			begin = max(begin, l.last)
		}
	}
	for _, l := range c.lanes {
		if l.used && l.media() && l.program == head.lane.program && begin-l.last < straggle {
			views[l] = &view{lane: *l, broke: -1, marks: -1, restart: -1}
		}
	}
	for i, e := range queue {
		if e.lane.program != head.lane.program || !e.lane.media() || e.at == av.NoPTS {
			continue
		}
		v := views[e.lane]
		if v == nil {
			v = &view{lane: *e.lane, broke: -1, marks: -1, restart: -1}
			views[e.lane] = v
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

// see adds a packet. It returns false at the next jump, which is another matter.
func (v *view) see(i int, e *entry) bool {
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
		v.broke, v.after, v.hard, v.gap = i, 1, v.lane.hard(e), e.at-v.last
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
		off := e.at - v.next
		v.restart, v.key, v.regular = i, e.key, 2*max(off, -off) <= max(e.length, v.next-v.last)+second/1000
	case v.restart >= 0 && !v.key && v.restarted == 0:
		off := e.at - v.next
		v.key, v.regular = e.key, v.regular && 2*max(off, -off) <= max(e.length, v.next-v.last)+second/1000
		v.restarted++
	}
	if v.used && epoch == v.epoch {
		v.passed += max(0, e.at-v.last)
		v.widest = max(v.widest, e.at-v.last)
	}
	v.follow(e, epoch)
	return v.passed <= straggle
}

// settled reports whether enough of a stream is known.
func (v *view) settled() bool {
	const reordered = 4
	switch {
	case v.broke >= 0:
		return !v.video() || v.after >= reordered
	case v.marks >= 0:
		return v.restart >= 0 && v.passed >= patience/2
	}
	return v.passed >= patience
}

// judge decides whether recordings are joined at the packets read ahead, and gives those their
// offsets.
func (c *clock) judge(queue []*entry) (joined bool) {
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
		case v.passed >= patience && v.widest < second:
			goesOn = true
		}
	}
	switch {
	case broken == 0:
		c.forgiveRestart(views, part)
		return false
	case goesOn && jump > second: // a stream of its own has a pause, or is damaged
		return false
	case !certain && broken < 2: // rounding
		return false
	}
	c.join(head.lane.program, views, part)
	c.forgiveRestart(views, part)
	return true
}

// join moves what comes behind a jump so that no stream overlaps.
func (c *clock) join(p *program, views map[*lane]*view, part []*entry) {
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
		if e.lane.program != p {
			continue
		}
		behind := i >= first
		if v := views[e.lane]; v != nil && v.broke >= 0 {
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
			forgive(part, v.broke, part[v.broke].lane)
		}
	}
	for _, e := range part {
		if e.lane.program == p && !e.lane.media() {
			e.forgive()
		}
	}
	if p == c.main {
		c.joints = append(c.joints, from+offset+c.shift)
	}
}

// forgiveRestart looks for recordings that are joined without a jump: the counters of packets begin
// anew, at a key frame, and all streams go on without a gap. MPEG-TS numbers its packets, so intact
// ones are marked as damaged there.
func (c *clock) forgiveRestart(views map[*lane]*view, part []*entry) {
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
			forgive(part, v.restart, part[v.restart].lane)
		}
	}
}

// forgive takes the marks off the packets of a stream around the one that begins a recording: all
// of those split from the last one before, the one before that, and one behind.
func forgive(part []*entry, begin int, l *lane) {
	gaps := 0
	for i := begin - 1; i >= 0 && gaps < 2; i-- {
		if part[i].lane != l {
			continue
		}
		if !part[i].marked {
			gaps++
		}
		part[i].forgive()
	}
	for i, n := begin, 0; i < len(part) && n < 2; i++ {
		if part[i].lane == l {
			part[i].forgive()
			n++
		}
	}
}

func (e *entry) forgive() {
	if e.marked {
		e.marked = false
		if e.p != nil {
			e.p.SetFlags(e.p.Flags().Del(astiav.PacketFlagCorrupt))
		}
	}
}
