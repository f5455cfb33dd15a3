package mux

//#include "glue.h"
import "C"

import (
	"cmp"
	"slices"
	"strconv"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
)

// header sets the muxer's options and writes the header.
type header struct {
	*streams
	at int64 // time of the first picture
}

// write writes the header of a file whose first picture has a timecode, or "".
func (m header) write(timecode string) error {
	if err := m.fileMetadata(); err != nil {
		return err
	}
	clocks := timecodes{m.file}
	clocks.move(m.at)
	clocks.keep(clocks.atRate(timecode))
	forecast{m.file}.foresee()
	var d *C.AVDictionary
	defer C.av_dict_free(&d)
	var err error
	switch m.Form.Family {
	case formats.ISO:
		err = m.setISO(&d)
	case formats.Matroska:
		err = m.setMatroska(&d)
	case formats.Transport:
		err = m.setTransport(&d)
	case formats.Raw:
		if !m.seekable() { // a pipe gets each picture at once
			m.oc.flags |= C.AVFMT_FLAG_FLUSH_PACKETS
		}
	}
	if err != nil {
		return err
	}
	if err := av.Error(int(C.avformat_write_header(m.oc, &d))); err != nil {
		return m.writeError("write the header of", err)
	}
	return nil
}

func (m header) setMatroska(d **C.AVDictionary) error {
	set(d, "default_mode", "passthrough") // the input's default streams stay default
	m.delayAudio()
	if m.seekable() {
		return nil
	}
	return m.describeAAC()
}

func (m header) setTransport(d **C.AVDictionary) error {
	// The muxer's clock runs ahead by max_delay. If streams start before that, it shifts them all.
	m.oc.max_delay = 700000
	if m.firstTime() >= 1400000 {
		set(d, "mpegts_copyts", "1")
	}
	return m.placePIDs(d)
}

// placePIDs lets streams keep their PIDs. One that another stream has, or a table, becomes the next
// that is free. The tables of programs make way.
func (m header) placePIDs(d **C.AVDictionary) error {
	const least, most, usual, tables = 0x20, 0x1ffa, 0x100, 0x1000 // others are reserved
	used := map[C.int]bool{}
	free := func(from C.int, n int) C.int {
		for pid, run := from, 0; pid <= most; pid++ {
			if run++; used[pid] {
				run = 0
			}
			if run == n {
				return pid - C.int(n) + 1
			}
		}
		return 0
	}
	var without []*C.AVStream
	for _, st := range m.outputs() {
		if st.id < least || st.id > most || used[st.id] {
			without = append(without, st)
		}
		used[st.id] = true
	}
	for _, st := range without {
		st.id = cmp.Or(free(usual, 1), free(least, 1))
		used[st.id] = true
	}
	n := max(1, int(m.oc.nb_programs))
	pmt := cmp.Or(free(tables, n), free(least, n))
	if pmt == 0 {
		return target.Refusal("leave streams out, by --map", "%s has no room for %d streams and %d programs", m.Format, m.oc.nb_streams, n)
	}
	set(d, "mpegts_pmt_start_pid", strconv.Itoa(int(pmt)))
	set(d, "mpegts_m2ts_mode", "0") // by which PIDs would be others
	return nil
}

// firstTime returns the earliest time of the output in microseconds, as far as known before the
// header.
func (m header) firstTime() int64 {
	t := m.Micros(m.at)
	for _, p := range m.early {
		if l := m.tracks[p.StreamIndex()]; p.Pts() != av.NoPTS && l != nil {
			t = min(t, int64(C.av_rescale_q(C.int64_t(p.Pts()), l.from, C.AVRational{1, 1000000})))
		}
	}
	return t
}

// delayAudio lets audio begin before 0. Matroska has no negative times, but it has a decoder delay
// that players subtract. Without it, every stream would be shifted.
func (m header) delayAudio() {
	for _, s := range m.In.Others {
		l := m.tracks[s.Index()]
		if l == nil || l.st.codecpar.codec_type != C.AVMEDIA_TYPE_AUDIO || l.st.codecpar.sample_rate <= 0 {
			continue
		}
		padding := C.av_rescale_q_rnd(-C.int64_t(m.firstOf(s)), l.from, C.AVRational{1, l.st.codecpar.sample_rate}, C.AV_ROUND_NEAR_INF)
		if l.aud != nil {
			padding += C.int64_t(l.aud.Padding())
		}
		if padding > 0 || l.st.codecpar.codec_id != C.AV_CODEC_ID_OPUS { // Opus always has one
			l.st.codecpar.initial_padding = max(0, C.int(padding))
		}
	}
}

// describeAAC gives AAC from MPEG-TS the codec header that Matroska needs, for pipes only. In a
// file the muxer later fills room that it has reserved, and a header set here would make it
// overwrite the data behind.
func (m header) describeAAC() error {
	for _, s := range m.In.Others {
		l := m.tracks[s.Index()]
		if l == nil || l.aud != nil || l.st.codecpar.codec_id != C.AV_CODEC_ID_AAC || l.st.codecpar.extradata_size > 0 {
			continue
		}
		config := m.aacConfig(s, l.st.codecpar)
		if err := av.SetExtradata(unsafe.Pointer(l.st.codecpar), config[:]); err != nil {
			return err
		}
	}
	return nil
}

// aacConfig takes the header from the stream's first packet or, if that comes later than ours,
// from the demuxer's parameters.
func (m header) aacConfig(s *astiav.Stream, par *C.AVCodecParameters) [2]byte {
	i := slices.IndexFunc(m.early, func(p *astiav.Packet) bool { return p.StreamIndex() == s.Index() })
	if i >= 0 {
		if h, _, _, ok := readADTS(m.early[i].Data()); ok {
			if config, ok := h.config(); ok {
				return config
			}
		}
	}
	config, _ := aacOf(par).config()
	return config
}

// firstOf returns the time of a stream's first packet in its own unit, 0 if it is not known before
// the header.
func (m header) firstOf(s *astiav.Stream) int64 {
	st := inputStream(s)
	for _, p := range m.early {
		if p.StreamIndex() != s.Index() || p.Pts() == av.NoPTS {
			continue
		}
		t := p.Pts()
		if m.tracks[s.Index()].aud != nil { // which its decoder leaves out
			t += int64(C.av_rescale_q(C.int64_t(skipped(p)), C.AVRational{1, st.codecpar.sample_rate}, st.time_base))
		}
		return t
	}
	// Packets are interleaved and this one is yet to come, but MP4 has an index.
	if t, ok := m.tracks[s.Index()].firstVisible(s); ok && !m.In.Cut {
		return t + int64(C.av_rescale_q(C.int64_t(m.In.Shift), C.AVRational{1, 1000000}, st.time_base))
	}
	return 0
}

// fileMetadata copies the file's tags, chapters and programs.
func (m header) fileMetadata() error {
	if m.In.Part {
		key, value := m.In.Tag(m.at)
		set(&m.oc.metadata, key, value)
		return nil
	}
	src := (*C.AVFormatContext)(av.FormatPtr(m.In.Context))
	if err := av.Error(int(C.av_dict_copy(&m.oc.metadata, src.metadata, 0))); err != nil {
		return err
	}
	dropTags(&m.oc.metadata, fidelity.OfContainer)
	stampTime(&m.oc.metadata)
	keepNames(m.Form, &m.oc.metadata, "encoding_tool", "stereo_mode")
	for _, c := range av.Slice(src.chapters, int(src.nb_chapters)) {
		us := C.AVRational{1, 1000000}
		start := int64(C.av_rescale_q(c.start, c.time_base, us)) + m.In.Shift
		end := int64(C.av_rescale_q(c.end, c.time_base, us)) + m.In.Shift
		if m.In.Cut {
			if end <= m.In.Start || m.In.End > 0 && start >= m.In.End {
				continue
			}
			start = max(start, m.In.Start)
			if m.In.End > 0 {
				end = min(end, m.In.End)
			}
		}
		if err := av.Error(int(C.vf_add_chapter(m.oc, C.int64_t(c.id), C.int64_t(start), C.int64_t(end), c.metadata))); err != nil {
			return err
		}
	}
	if !m.Form.KeepsIDs {
		return nil
	}
	indexes := make([]C.int, src.nb_streams)
	for i := range indexes {
		indexes[i] = -1
		if l := m.tracks[i]; l != nil {
			indexes[i] = l.st.index
		}
	}
	indexes[m.In.Video.Index()] = m.video.index
	return av.Error(int(C.vf_copy_programs(m.oc, src, &indexes[0])))
}
