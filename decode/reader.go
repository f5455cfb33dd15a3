package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// packetReader reads the packets of a container, with their times on the output's clock.
type packetReader struct {
	logger
	containerStreams
	url      string // FFmpeg's
	forwards bool   // it can be read only once, in order

	video    *astiav.Stream
	selected map[int]bool // the others that are copied

	clock  clock
	ahead  ahead
	moves  movedStreams
	jumped bool  // the clock did, with a warning
	cutOff int64 // streams whose last packets could not be read
}

func (r *packetReader) videoStream() *C.AVStream { return r.stream(r.video.Index()) }

// read reads the next packet into pkt, with its times on the output's clock.
func (r *packetReader) read(pkt *astiav.Packet) error {
	if !r.clock.jumpy {
		if err := r.fc.ReadFrame(pkt); err != nil {
			return err
		}
		st := r.stream(pkt.StreamIndex())
		r.clock.end = max(r.clock.end, packetEnd(pkt, st))
		r.clock.place(pkt, st, 0)
		return nil
	}
	if len(r.ahead.queue) == 0 {
		if err := r.readAhead(); err != nil {
			r.ahead.err = nil
			return err
		}
	}
	e := r.ahead.queue[0]
	r.known(e)
	if r.clock.doubtful(e) {
		r.resolve()
	}
	r.ahead.queue = r.ahead.queue[1:]
	r.ahead.bytes -= e.p.Size()
	setIn(&r.ahead.last, e.stream, e.p.Dts())
	offset := r.clock.take(e)
	pkt.MoveRef(e.p)
	e.p.Free()
	r.clock.place(pkt, r.stream(pkt.StreamIndex()), offset)
	return nil
}

// readAhead reads a packet to the end of the queue. An error stays until the queue is empty.
func (r *packetReader) readAhead() error {
	if r.ahead.err != nil {
		return r.ahead.err
	}
	p := astiav.AllocPacket()
	if p == nil {
		return errors.New("out of memory")
	}
	if err := r.fc.ReadFrame(p); err != nil {
		p.Free()
		if !errors.Is(err, astiav.ErrEagain) {
			r.ahead.err = err
		}
		return err
	}
	i := p.StreamIndex()
	if r.moves.isStale(p, r.stream(i)) {
		p.Free()
		return r.readAhead()
	}
	r.ahead.queue = append(r.ahead.queue, newQueued(p))
	r.ahead.bytes += p.Size()
	followed := func(f int) bool { return r.selected[f] || f == r.video.Index() }
	for _, ended := range r.moves.come(r.containerStreams, i, followed) {
		r.finishStream(ended, len(r.ahead.queue)-1)
	}
	return nil
}

// known completes an entry once the streams of the output are known.
func (r *packetReader) known(e *queuedPacket) {
	if e.clock != nil {
		return
	}
	p := e.p
	r.clock.end = max(r.clock.end, packetEnd(p, r.stream(p.StreamIndex())))
	p.SetStreamIndex(r.moves.first(p.StreamIndex()))
	st := r.stream(p.StreamIndex())
	e.clock = r.clockOf(p.StreamIndex())
	e.at, e.exact, e.pts = packetTime(p, st), p.Dts() != av.NoPTS, p.Pts()
	if e.pts != av.NoPTS {
		e.pts = micros(e.pts, st)
	}
	e.length = micros(p.Duration(), st)
	e.key, e.marked = p.Flags().Has(astiav.PacketFlagKey), p.Flags().Has(astiav.PacketFlagCorrupt)
	if e.pos = p.Pos(); e.pos < 0 {
		e.pos = e.clock.pos // split from the packet before
	}
	e.clock.pos = e.pos
	if moved := r.clock.begin(e); moved != 0 && r.selected[p.StreamIndex()] {
		r.warn("the programs of the input have different clocks: that of stream %d is moved by %.3f s", p.StreamIndex(), float64(moved)/float64(second))
	}
}

// resolve reads on until the next packet can be judged.
func (r *packetReader) resolve() {
	const several = 8 // read at a time, since a survey looks at all
	for more := true; more; {
		for range several {
			more = more && !r.ahead.full() && r.readAhead() == nil
		}
		for _, e := range r.ahead.queue {
			r.known(e)
		}
		_, _, settled := r.clock.survey(r.ahead.queue)
		more = more && !settled
	}
	if r.clock.judge(r.ahead.queue) && !r.jumped {
		r.jumped = true
		r.warn("the clock of the input jumps, as where recordings are joined; the output goes on without a gap")
	}
}

// clockOf returns the clock of a stream, which belongs to the program that lists it.
func (r *packetReader) clockOf(i int) *streamClock {
	l := r.clock.streams[i]
	if l == nil {
		l = &streamClock{program: r.clock.main, kind: r.fc.Streams()[i].CodecParameters().MediaType(), pos: -1}
		if id, ok := r.programOf(i); ok {
			if r.clock.programs[id] == nil {
				r.clock.programs[id] = &programClock{}
			}
			l.program = r.clock.programs[id]
		}
		r.clock.streams[i] = l
	}
	return l
}

// startMain makes the video's program the main one.
func (r *packetReader) startMain() {
	c := &r.clock
	c.main = &programClock{offsets: []int64{0}}
	for _, i := range r.moves.line(r.video.Index()) {
		if id, ok := r.programOf(i); ok {
			c.programs[id] = c.main
		}
	}
	c.mainFrom = r.earliest()
}

// earliest returns the first time of the container, or of the video's program in a broadcast, in
// microseconds; 0 if it is unknown.
func (r *packetReader) earliest() int64 {
	fc := r.context()
	start, video := int64(fc.start_time), r.videoStream()
	if fc.start_time == C.AV_NOPTS_VALUE {
		start = 0
	}
	if !r.clock.jumpy || video.start_time == C.AV_NOPTS_VALUE {
		return start
	}
	begin := micros(int64(video.start_time), video)
	start = begin
	for _, s := range r.fc.Streams() {
		st, l := r.stream(s.Index()), r.clockOf(s.Index())
		if st.start_time == C.AV_NOPTS_VALUE || !l.media() || l.program != r.clock.main {
			continue
		}
		if t := micros(int64(st.start_time), st); begin-t < jumpThreshold {
			start = min(start, t)
		}
	}
	return start
}

// findMoves finds streams that moved while FFmpeg probed the input: one begins later than another
// of its kind, and the other has no packets from there on.
func (r *packetReader) findMoves() {
	const apart = second / 3
	var all []int
	later := false
	for _, s := range r.fc.Streams() {
		i := s.Index()
		begin := func(i int) int64 { return micros(int64(r.stream(i).start_time), r.stream(i)) }
		if !r.movable(i) || r.stream(i).start_time == C.AV_NOPTS_VALUE {
			continue
		}
		for _, other := range all {
			d := begin(i) - begin(other)
			later = later || r.alike(i, other) && max(d, -d) > apart
		}
		all = append(all, i)
	}
	if !r.clock.jumpy || !later {
		return
	}
	// Read ahead until each stream has a packet, or as much as FFmpeg probes.
	first, last := map[int]int{}, map[int]int{}
	note := func(n int) {
		i := r.ahead.queue[n].stream
		if _, ok := first[i]; !ok {
			first[i] = n
		}
		last[i] = n
	}
	without := func(i int) bool { _, ok := first[i]; return !ok }
	for slices.ContainsFunc(all, without) && !r.ahead.full() && r.readAhead() == nil {
		note(len(r.ahead.queue) - 1)
	}
	all = slices.DeleteFunc(all, without)
	slices.SortFunc(all, func(a, b int) int { return first[a] - first[b] })
	type ending struct{ stream, before int }
	var endings []ending
	for n, i := range all {
		var ended []int
		for _, f := range all[:n] {
			h := r.moves.at(f)
			if r.moves.first(f) == f && r.alike(f, i) && !(r.listed(h) && r.listed(i)) && !r.goesOn(h, first[i], last[i]) {
				ended = append(ended, f)
			}
		}
		slices.Sort(ended)
		if f := r.pick(i, ended); f >= 0 {
			endings = append(endings, ending{r.moves.at(f), first[i]})
			r.moves.move(f, i)
		}
	}
	for _, e := range slices.Backward(endings) {
		r.finishStream(e.stream, e.before)
	}
}

// goesOn reports whether a stream continues in a part of the queue, beyond delayed last packets.
func (r *packetReader) goesOn(stream, from, to int) bool {
	ended, ok := r.ahead.lastOf(stream, from)
	for _, e := range r.ahead.queue[from:to] {
		if e.stream == stream && ok && micros(e.p.Dts()-ended, r.stream(stream)) > second/2 {
			return true
		}
	}
	return false
}

// finishStream queues the last packets of a moved stream before an entry. FFmpeg holds them back
// until the stream continues or the file ends, so the file up to there is opened again. From a pipe
// they are lost.
func (r *packetReader) finishStream(stream, before int) {
	const enough = 4 << 20 // holds tables of programs and a picture
	ended, ok := r.ahead.lastOf(stream, before)
	end := r.ahead.queue[before].p.Pos()
	r.moves.ends++
	lose := func() {
		setIn(&r.moves.lost, stream, ended)
		r.cutOff++
		if r.moves.ends > mostEnds {
			return
		}
		r.warn("the end of %s is lost where it moves to another PID: only a file gives it back", r.nameOf(stream))
	}
	if !ok {
		return
	}
	if end < 0 || r.forwards || r.moves.ends > mostEnds {
		lose()
		return
	}
	fc := astiav.AllocFormatContext()
	if fc == nil {
		return
	}
	dict := astiav.NewDictionary()
	defer dict.Free()
	_ = dict.Set("protocol_whitelist", "file,subfile", 0)
	url := fmt.Sprintf("subfile,,start,%d,end,%d,,:%s", max(0, end-enough), end, r.url)
	if fc.OpenInput(url, astiav.FindInputFormat("mpegts"), dict) != nil {
		lose()
		return
	}
	defer fc.CloseInput()
	var rest []*queuedPacket
	for {
		p := astiav.AllocPacket()
		if p == nil || fc.ReadFrame(p) != nil {
			if p != nil {
				p.Free()
			}
			break
		}
		later := wrapped33(p.Dts() - ended)
		if fc.Streams()[p.StreamIndex()].ID() != int(r.stream(stream).id) || p.Dts() == av.NoPTS || later <= 0 {
			p.Free()
			continue
		}
		if p.Pts() != av.NoPTS {
			p.SetPts(ended + later + p.Pts() - p.Dts())
		}
		p.SetDts(ended + later)
		p.SetStreamIndex(stream)
		p.SetPos(-1)
		p.SetFlags(p.Flags().Del(astiav.PacketFlagCorrupt)) // for want of its end
		rest = append(rest, newQueued(p))
		r.ahead.bytes += p.Size()
	}
	stale := len(rest)
	queue := slices.DeleteFunc(slices.Clone(r.ahead.queue[before:]), func(e *queuedPacket) bool {
		drop := e.stream == stream && stale > 0
		if drop {
			stale--
			r.ahead.bytes -= e.p.Size()
			e.p.Free()
		}
		return drop
	})
	setIn(&r.moves.stale, stream, stale)
	r.ahead.queue = slices.Concat(r.ahead.queue[:before], rest, queue)
}

// mostEnds limits how many ends of streams are read again, which is slow.
const mostEnds = 200

// The most that is read ahead.
const (
	mostAhead      = 20000
	mostAheadBytes = 64 << 20
)

// ahead holds packets that were read before their turn, in the file's order.
type ahead struct {
	queue []*queuedPacket
	bytes int
	err   error         // that came behind them
	last  map[int]int64 // decode times of the packets that left it, by stream
}

func (a *ahead) full() bool { return len(a.queue) >= mostAhead || a.bytes >= mostAheadBytes }

func (a *ahead) drop() {
	for _, e := range a.queue {
		e.p.Free()
	}
	*a = ahead{}
}

// lastOf returns the decode time of a stream's last packet before an entry of the queue.
func (a *ahead) lastOf(stream, before int) (dts int64, ok bool) {
	for _, e := range slices.Backward(a.queue[:before]) {
		if e.stream == stream && e.p.Dts() != av.NoPTS {
			return e.p.Dts(), true
		}
	}
	dts, ok = a.last[stream]
	return dts, ok && dts != av.NoPTS
}

func newQueued(p *astiav.Packet) *queuedPacket {
	return &queuedPacket{p: p, stream: p.StreamIndex(), epoch: -1}
}
