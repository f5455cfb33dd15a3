package decode

//#include "glue.h"
import "C"

import (
	"errors"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Limits of what is read ahead.
const (
	mostAhead      = 20000
	mostAheadBytes = 64 << 20
)

// ahead holds packets that were read before their turn, in the file's order.
type ahead struct {
	queue []*entry
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

// read reads the next packet into in.pkt, with its times on the output's clock.
func (in *Input) read() error {
	if !in.clock.jumpy {
		if err := in.fc.ReadFrame(in.pkt); err != nil {
			return err
		}
		st := in.stream(in.pkt.StreamIndex())
		in.clock.end = max(in.clock.end, packetEnd(in.pkt, st))
		in.clock.place(in.pkt, st, 0)
		return nil
	}
	if len(in.ahead.queue) == 0 {
		if err := in.readAhead(); err != nil {
			in.ahead.err = nil
			return err
		}
	}
	e := in.ahead.queue[0]
	in.known(e)
	if in.clock.doubtful(e) {
		in.resolve()
	}
	in.ahead.queue = in.ahead.queue[1:]
	in.ahead.bytes -= e.p.Size()
	put(&in.ahead.last, e.stream, e.p.Dts())
	offset := in.clock.take(e)
	in.pkt.MoveRef(e.p)
	e.p.Free()
	in.clock.place(in.pkt, in.stream(in.pkt.StreamIndex()), offset)
	return nil
}

// readAhead reads a packet to the end of the queue. An error stays until the queue is empty.
func (in *Input) readAhead() error {
	if in.ahead.err != nil {
		return in.ahead.err
	}
	p := astiav.AllocPacket()
	if p == nil {
		return errors.New("out of memory")
	}
	if err := in.fc.ReadFrame(p); err != nil {
		p.Free()
		if !errors.Is(err, astiav.ErrEagain) {
			in.ahead.err = err
		}
		return err
	}
	i := p.StreamIndex()
	if in.moves.isStale(p, in.stream(i)) {
		p.Free()
		return in.readAhead()
	}
	in.ahead.queue = append(in.ahead.queue, newEntry(p))
	in.ahead.bytes += p.Size()
	in.moves.come(in, i)
	return nil
}

func newEntry(p *astiav.Packet) *entry { return &entry{p: p, stream: p.StreamIndex(), epoch: -1} }

// known completes an entry once the streams of the output are known.
func (in *Input) known(e *entry) {
	if e.lane != nil {
		return
	}
	p := e.p
	in.clock.end = max(in.clock.end, packetEnd(p, in.stream(p.StreamIndex())))
	p.SetStreamIndex(in.moves.first(p.StreamIndex()))
	st := in.stream(p.StreamIndex())
	e.lane = in.laneOf(p.StreamIndex())
	e.at, e.exact, e.pts = packetTime(p, st), p.Dts() != av.NoPTS, p.Pts()
	if e.pts != av.NoPTS {
		e.pts = micros(e.pts, st)
	}
	e.length = micros(p.Duration(), st)
	e.key, e.marked = p.Flags().Has(astiav.PacketFlagKey), p.Flags().Has(astiav.PacketFlagCorrupt)
	if e.pos = p.Pos(); e.pos < 0 {
		e.pos = e.lane.pos // split from the packet before
	}
	e.lane.pos = e.pos
	if moved := in.clock.begin(e); moved != 0 && in.selected[p.StreamIndex()] {
		in.warn("the programs of the input have different clocks: that of stream %d is moved by %.3f s", p.StreamIndex(), float64(moved)/float64(second))
	}
}

// resolve reads on until it is clear what to make of the packet that is next.
func (in *Input) resolve() {
	const several = 8 // read at a time, since a survey looks at all
	for more := true; more; {
		for range several {
			more = more && !in.ahead.full() && in.readAhead() == nil
		}
		for _, e := range in.ahead.queue {
			in.known(e)
		}
		_, _, settled := in.clock.survey(in.ahead.queue)
		more = more && !settled
	}
	if in.clock.judge(in.ahead.queue) && !in.jumped {
		in.jumped = true
		in.warn("the clock of the input jumps, as where recordings are joined; the output goes on without a gap")
	}
}

// laneOf returns the lane of a stream, which belongs to the program that lists it.
func (in *Input) laneOf(i int) *lane {
	l := in.clock.lanes[i]
	if l == nil {
		l = &lane{program: in.clock.main, kind: in.fc.Streams()[i].CodecParameters().MediaType(), pos: -1}
		if id, ok := in.programOf(i); ok {
			if in.clock.programs[id] == nil {
				in.clock.programs[id] = &program{}
			}
			l.program = in.clock.programs[id]
		}
		in.clock.lanes[i] = l
	}
	return l
}

// programOf returns the identifier of the first program that lists a stream. ok is false if none
// does.
func (in *Input) programOf(i int) (id int, ok bool) {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	for _, p := range av.Slice(fc.programs, int(fc.nb_programs)) {
		for _, s := range av.Slice(p.stream_index, int(p.nb_stream_indexes)) {
			if int(s) == i {
				return int(p.id), true
			}
		}
	}
	return 0, false
}

// startMain makes the video's program the main one.
func (in *Input) startMain() {
	c := &in.clock
	c.main = &program{offsets: []int64{0}}
	for _, i := range in.moves.line(in.video.Index()) {
		if id, ok := in.programOf(i); ok {
			c.programs[id] = c.main
		}
	}
	c.mainFrom = in.earliest()
}

// earliest returns the first time of the container in microseconds, of a broadcast that of the
// video's program; 0 if it is unknown.
func (in *Input) earliest() int64 {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	start, video := int64(fc.start_time), in.stream(in.video.Index())
	if fc.start_time == C.AV_NOPTS_VALUE {
		start = 0
	}
	if !in.clock.jumpy || video.start_time == C.AV_NOPTS_VALUE {
		return start
	}
	begin := micros(int64(video.start_time), video)
	start = begin
	for _, s := range in.fc.Streams() {
		st, l := in.stream(s.Index()), in.laneOf(s.Index())
		if st.start_time == C.AV_NOPTS_VALUE || !l.media() || l.program != in.clock.main {
			continue
		}
		if t := micros(int64(st.start_time), st); begin-t < jumpThreshold {
			start = min(start, t)
		}
	}
	return start
}
