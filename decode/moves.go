package decode

//#include "glue.h"
import "C"

import (
	"fmt"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// moves follows streams that a broadcast moves to another PID, or that go on in a joined recording.
// FFmpeg makes each a new stream; here it continues the first one.
type moves struct {
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
func (m *moves) first(i int) int {
	if f, ok := m.from[i]; ok {
		return f
	}
	return i
}

// line returns a first stream and the streams that continue it.
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

// movable reports whether a stream is video, sound or subtitles.
func (in *Input) movable(i int) bool {
	switch in.stream(i).codecpar.codec_type {
	case C.AVMEDIA_TYPE_VIDEO, C.AVMEDIA_TYPE_AUDIO, C.AVMEDIA_TYPE_SUBTITLE:
		return !in.isPicture(i)
	}
	return false
}

// alike reports whether one decoder fits both streams. The layer of MPEG audio is not known at the
// beginning, so all layers are alike.
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

// pick returns the first of some streams with the language of another, else the first; -1 if there
// is none.
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

// come handles the stream of the packet just read. At its first packet, a stream continues a
// similar one that its program no longer lists. A stream may also return to its former PID.
func (m *moves) come(in *Input, i int) {
	if at := m.at(m.first(i)); m.opened > 0 && at != i && in.listed(i) && !in.listed(at) {
		put(&m.now, m.first(i), i)
		in.finishStream(at, len(in.ahead.queue)-1)
	}
	if m.opened == 0 || m.seen[i] {
		return
	}
	put(&m.seen, i, true)
	if m.first(i) != i || !in.movable(i) {
		return
	}
	var ended []int
	for f := range m.opened {
		if f != i && m.first(f) == f && (in.selected[f] || f == in.video.Index()) && in.alike(f, i) && !slices.ContainsFunc(m.line(f), in.listed) {
			ended = append(ended, f)
		}
	}
	if f := in.pick(i, ended); f >= 0 && in.listed(i) {
		at := m.at(f)
		m.move(f, i)
		in.finishStream(at, len(in.ahead.queue)-1)
	}
}

// putAside leaves out streams of a broadcast without size or sample rate, which a track needs:
// FFmpeg found only their names, at the end of the file.
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

// tellLate counts a stream that begins after the input was opened, and warns at its first packet.
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

// findMoves finds streams that moved while FFmpeg probed the input: one begins later than another
// of its kind, and has packets where the other has none.
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
	// Read ahead until each stream has a packet, or as much as FFmpeg probes.
	first, last := map[int]int{}, map[int]int{}
	note := func(n int) {
		i := in.ahead.queue[n].stream
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
	type ending struct{ stream, before int }
	var endings []ending
	for n, i := range all {
		var ended []int
		for _, f := range all[:n] {
			h := in.moves.at(f)
			if in.moves.first(f) == f && in.alike(f, i) && !(in.listed(h) && in.listed(i)) && !in.goesOn(h, first[i], last[i]) {
				ended = append(ended, f)
			}
		}
		slices.Sort(ended)
		if f := in.pick(i, ended); f >= 0 {
			endings = append(endings, ending{in.moves.at(f), first[i]})
			in.moves.move(f, i)
		}
	}
	for _, e := range slices.Backward(endings) {
		in.finishStream(e.stream, e.before)
	}
}

// goesOn reports whether a stream continues in a part of the queue, beyond delayed last packets.
func (in *Input) goesOn(stream, from, to int) bool {
	ended, ok := in.lastOf(stream, from)
	for _, e := range in.ahead.queue[from:to] {
		if e.stream == stream && ok && micros(e.p.Dts()-ended, in.stream(stream)) > second/2 {
			return true
		}
	}
	return false
}

// lastOf returns the decode time of a stream's last packet before an entry of the queue.
func (in *Input) lastOf(stream, before int) (dts int64, ok bool) {
	for _, e := range slices.Backward(in.ahead.queue[:before]) {
		if e.stream == stream && e.p.Dts() != av.NoPTS {
			return e.p.Dts(), true
		}
	}
	dts, ok = in.ahead.last[stream]
	return dts, ok && dts != av.NoPTS
}

// mostEnds limits how many ends of streams are read again, which is slow.
const mostEnds = 200

// finishStream queues the last packets of a moved stream before an entry. FFmpeg holds them back
// until the stream continues or the file ends, so the file up to there is opened again. From a pipe
// they are lost.
func (in *Input) finishStream(stream, before int) {
	const enough = 4 << 20 // holds tables of programs and a picture
	ended, ok := in.lastOf(stream, before)
	end := in.ahead.queue[before].p.Pos()
	in.moves.ends++
	lose := func() {
		put(&in.moves.lost, stream, ended)
		in.damage.MissingPackets++
		if in.moves.ends > mostEnds {
			return
		}
		in.warn("the end of %s is lost where it moves to another PID: only a file gives it back", in.nameOf(stream))
	}
	if !ok {
		return
	}
	if end < 0 || in.forwards || in.moves.ends > mostEnds {
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
	url := fmt.Sprintf("subfile,,start,%d,end,%d,,:%s", max(0, end-enough), end, in.url)
	if fc.OpenInput(url, astiav.FindInputFormat("mpegts"), dict) != nil {
		lose()
		return
	}
	defer fc.CloseInput()
	var rest []*entry
	for {
		p := astiav.AllocPacket()
		if p == nil || fc.ReadFrame(p) != nil {
			if p != nil {
				p.Free()
			}
			break
		}
		later := wrapped33(p.Dts() - ended)
		if fc.Streams()[p.StreamIndex()].ID() != int(in.stream(stream).id) || p.Dts() == av.NoPTS || later <= 0 {
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
		rest = append(rest, newEntry(p))
		in.ahead.bytes += p.Size()
	}
	stale := len(rest)
	queue := slices.DeleteFunc(slices.Clone(in.ahead.queue[before:]), func(e *entry) bool {
		drop := e.stream == stream && stale > 0
		if drop {
			stale--
			in.ahead.bytes -= e.p.Size()
			e.p.Free()
		}
		return drop
	})
	put(&in.moves.stale, stream, stale)
	in.ahead.queue = slices.Concat(in.ahead.queue[:before], rest, queue)
}

// isStale reports whether FFmpeg held a packet of a moved stream back until now.
func (m *moves) isStale(p *astiav.Packet, st *C.AVStream) bool {
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

// otherCodec is how many packets in a row must fail after a program changed, before its video is
// taken to be in another codec.
const otherCodec = 20

// watchTable notes when the table of the video's program changes.
func (in *Input) watchTable() {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	id, ok := in.programOf(in.moves.at(in.video.Index()))
	for _, p := range av.Slice(fc.programs, int(fc.nb_programs)) {
		if v := int(p.pmt_version); ok && int(p.id) == id && v != in.table {
			in.table, in.tableAt = v, in.packets
		}
	}
}

// tableChanged reports whether the table changed near the packet where decoding began to fail. The
// table is read some packets ahead.
func (in *Input) tableChanged() bool {
	const about = 500
	return in.tableAt > 0 && in.packets-in.failedInRow-in.tableAt < about
}

// loseVideo leaves out the rest of a video that continues in another codec under the same PID.
func (in *Input) loseVideo() {
	in.videoLost = true
	in.failed -= in.failedInRow // these packets are not damaged
	in.damage.LateStreams++
	in.warn("the video goes on from %.3f s in another codec: that part is left out; filter it as a file of its own", float64(in.last)/float64(second))
}
