package decode

//#include "glue.h"
import "C"

import (
	"fmt"
	"slices"

	"vidfilter/internal/av"
)

// moves follows the streams of broadcasts. A program may move a stream to another PID, which FFmpeg
// makes a new stream of its own: it goes on as the first one. So does one of another recording that
// was joined.
type moves struct {
	opened int          // streams that were known on opening; 0 before
	from   map[int]int  // the first stream of those that moved
	now    map[int]int  // where a first stream is now
	seen   map[int]bool // streams that have had a packet since
	aside  map[int]bool // streams that cannot be tracks: see putAside
	told   map[int]bool // streams that begin later, of which a warning told
}

// first returns the stream as which one goes on, mostly itself.
func (m *moves) first(i int) int {
	if f, ok := m.from[i]; ok {
		return f
	}
	return i
}

// line returns a first stream and those that go on as it.
func (m *moves) line(i int) []int {
	line := []int{i}
	for s, f := range m.from {
		if f == i {
			line = append(line, s)
		}
	}
	return line
}

func (m *moves) at(first int) int {
	if i, ok := m.now[first]; ok {
		return i
	}
	return first
}

func (m *moves) move(first, to int) {
	put(&m.from, to, first)
	put(&m.now, first, to)
}

// movable reports whether a stream is of a kind that players show.
func (in *Input) movable(i int) bool {
	switch in.stream(i).codecpar.codec_type {
	case C.AVMEDIA_TYPE_VIDEO, C.AVMEDIA_TYPE_AUDIO, C.AVMEDIA_TYPE_SUBTITLE:
		return !in.isPicture(i)
	}
	return false
}

// alike reports whether a decoder of one stream takes the other. What kind of MPEG audio a stream
// is shows later than its beginning.
func (in *Input) alike(a, b int) bool {
	codec := func(i int) C.enum_AVCodecID {
		id := in.stream(i).codecpar.codec_id
		if id == C.AV_CODEC_ID_MP1 || id == C.AV_CODEC_ID_MP2 {
			return C.AV_CODEC_ID_MP3
		}
		return id
	}
	return in.stream(a).codecpar.codec_type == in.stream(b).codecpar.codec_type && codec(a) == codec(b)
}

// listed reports whether a program has the stream now.
func (in *Input) listed(i int) bool { _, ok := in.programOf(i); return ok }

// pick returns the first stream that is most like another, -1 if there is none.
func (in *Input) pick(i int, among []int) int {
	language := func(i int) string { return entries(in.stream(i).metadata)["language"] }
	for _, f := range among {
		if language(f) == language(i) {
			return f
		}
	}
	if len(among) > 0 {
		return among[0]
	}
	return -1
}

// come looks at the stream of a packet. Once that has its first, it goes on as one like it that its
// program no longer has.
func (m *moves) come(in *Input, i int) {
	if m.opened == 0 || m.seen[i] {
		return
	}
	put(&m.seen, i, true)
	if m.first(i) != i || !in.movable(i) {
		return
	}
	var ended []int
	for f := range m.opened {
		if f != i && m.first(f) == f && (in.selected[f] || f == in.video.Index()) && in.alike(f, i) && !in.listed(m.at(f)) {
			ended = append(ended, f)
		}
	}
	if f := in.pick(i, ended); f >= 0 && in.listed(i) {
		m.move(f, i)
	}
}

// putAside leaves out the streams of a broadcast of which nothing is known on opening but their
// names: FFmpeg saw them at the end of the file. A track needs more.
func (in *Input) putAside() {
	if !in.clock.jumpy {
		return
	}
	for _, s := range in.fc.Streams() {
		par := in.stream(s.Index()).codecpar
		if par.codec_type == C.AVMEDIA_TYPE_VIDEO && par.width <= 0 || par.codec_type == C.AVMEDIA_TYPE_AUDIO && par.sample_rate <= 0 {
			if i := s.Index(); i != in.video.Index() {
				put(&in.moves.aside, i, true)
			}
		}
	}
}

// tellLate counts a stream that began after the input was opened, and says so, with its first
// packet.
func (in *Input) tellLate(i int) {
	m := &in.moves
	if late := i >= m.opened || m.aside[i]; !late || m.told[i] || in.videoOnly() || !in.movable(i) {
		return
	}
	put(&m.told, i, true)
	t := in.traits(in.fc.Streams()[i])
	if t.kind == 'a' && in.opts.NoAudio || t.kind == 's' && in.opts.NoSubs || !mapped(in.rules, t, true) {
		return
	}
	in.damage.LateStreams++
	at := packetTime(in.pkt, in.stream(i))
	if at == av.NoPTS {
		at = in.last
	}
	when := fmt.Sprintf("%.3f s", float64(max(at, 0))/float64(second))
	if t.kind == 'v' && in.clock.jumpy && in.listed(i) && !in.listed(in.moves.at(in.video.Index())) {
		in.warn("the video goes on from %s in another codec, as %s: that part is left out; filter it as a file of its own", when, in.nameOf(i))
		return
	}
	in.warn("%s begins at %s and is left out: the output was begun without it", in.nameOf(i), when)
}

// nameOf names a stream in messages.
func (in *Input) nameOf(i int) string {
	par := in.stream(i).codecpar
	return fmt.Sprintf("stream %d (%s %s)", i, C.GoString(C.av_get_media_type_string(par.codec_type)), C.GoString(C.avcodec_get_name(par.codec_id)))
}

// findMoves looks for streams that moved while FFmpeg looked for streams: one begins later than
// another of its kind, and has packets where that has none.
func (in *Input) findMoves() {
	const apart = second / 3
	var all []int
	later := false
	for _, s := range in.fc.Streams() {
		i := s.Index()
		begin := func(i int) int64 { return micros(int64(in.stream(i).start_time), in.stream(i)) }
		if !in.movable(i) || in.stream(i).start_time == C.AV_NOPTS_VALUE {
			continue
		}
		for _, other := range all {
			d := begin(i) - begin(other)
			later = later || in.alike(i, other) && max(d, -d) > apart
		}
		all = append(all, i)
	}
	if !in.clock.jumpy || !later {
		return
	}
	// Enough is read ahead if each stream has a packet, or after as much as FFmpeg looks at.
	first, last := map[int]int{}, map[int]int{}
	note := func(n int) {
		i := in.ahead.queue[n].p.StreamIndex()
		if _, ok := first[i]; !ok {
			first[i] = n
		}
		last[i] = n
	}
	without := func(i int) bool { _, ok := first[i]; return !ok }
	for slices.ContainsFunc(all, without) && !in.ahead.full() && in.readAhead() == nil {
		note(len(in.ahead.queue) - 1)
	}
	all = slices.DeleteFunc(all, without)
	slices.SortFunc(all, func(a, b int) int { return first[a] - first[b] })
	for n, i := range all {
		var ended []int
		for _, f := range all[:n] {
			h := in.moves.at(f)
			if in.moves.first(f) == f && in.alike(f, i) && !(in.listed(h) && in.listed(i)) && in.between(h, first[i], last[i]) <= fewPackets {
				ended = append(ended, f)
			}
		}
		slices.Sort(ended)
		if f := in.pick(i, ended); f >= 0 {
			in.moves.move(f, i)
		}
	}
}

// fewPackets of a stream may come after those of the one that it moved to.
const fewPackets = 2

// between counts the packets of a stream in a part of the queue.
func (in *Input) between(stream, from, to int) (n int) {
	for _, e := range in.ahead.queue[from:to] {
		if e.p.StreamIndex() == stream {
			n++
		}
	}
	return n
}

// programs reports how many programs list streams.
func (in *Input) programs() (n int) {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	for _, p := range av.Slice(fc.programs, int(fc.nb_programs)) {
		if p.nb_stream_indexes > 0 {
			n++
		}
	}
	return n
}
