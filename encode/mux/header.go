package mux

//#include "glue.h"
import "C"

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
)

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

// placePIDs lets streams keep their PIDs. One that is taken becomes the next free one.
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

// firstTime returns the earliest known time of the output in microseconds.
func (m header) firstTime() int64 {
	t := m.Micros(m.at)
	for _, p := range m.early {
		if l := m.tracks[p.StreamIndex()]; p.Pts() != av.NoPTS && l != nil {
			t = min(t, int64(C.av_rescale_q(C.int64_t(p.Pts()), l.from, C.AVRational{1, 1000000})))
		}
	}
	return t
}

// delayAudio lets audio begin before 0: Matroska has no negative times, but a decoder delay.
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

// describeAAC gives AAC from MPEG-TS a codec header in pipes. In files the muxer adds it later.
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

// aacConfig takes the header from the stream's first packet or from the demuxer's parameters.
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

// firstOf returns the time of a stream's first packet in its own unit, 0 if it is not known yet.
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

func (m header) setISO(d **C.AVDictionary) error {
	set(d, "movflags", strings.Join(m.movFlags(), "+"))
	if m.Fragment > 0 {
		set(d, "frag_duration", strconv.FormatInt(m.Fragment.Microseconds(), 10))
		set(d, "flush_packets", "1") // or quiet video would stay in a buffer for seconds
		m.oc.flags |= C.AVFMT_FLAG_FLUSH_PACKETS
	}
	if m.In.Part {
		return m.exactTimes(d)
	}
	if scale := m.movieTimescale(); scale > 0 {
		set(d, "movie_timescale", strconv.Itoa(scale))
	}
	return nil
}

// plainQuickTime lists the tags that QuickTime also has.
var plainQuickTime = []string{"title", "artist", "album", "date", "comment", "genre", "copyright", "creation_time", "timecode"}

func (m header) movFlags() []string {
	var flags []string
	switch {
	case m.Fragment > 0:
		flags = append(flags, "delay_moov", "default_base_moof")
	case !m.seekable():
		flags = append(flags, "frag_keyframe", "delay_moov", "default_base_moof")
	}
	if hasSideData(m.video.codecpar, C.AV_PKT_DATA_ICC_PROFILE) && m.coloursInPictures() {
		flags = append(flags, "prefer_icc")
	}
	if tagged, whole := colourTags(m.video.codecpar); tagged && !whole {
		flags = append(flags, "write_colr")
	}
	if m.hasCover() {
		return flags // the newer scheme has no place for cover art
	}
	atoms := plain
	if m.Format == formats.MOV {
		atoms = plainQuickTime
	}
	for k := range tags(m.oc.metadata) {
		if !slices.Contains(atoms, k) {
			return append(flags, "use_metadata_tags")
		}
	}
	return flags
}

// colourTags reports whether a video has colour tags, and all three: FFmpeg writes no fewer.
func colourTags(par *C.AVCodecParameters) (some, all bool) {
	tags := 0
	for _, is := range []bool{
		par.color_primaries != C.AVCOL_PRI_UNSPECIFIED, par.color_trc != C.AVCOL_TRC_UNSPECIFIED, par.color_space != C.AVCOL_SPC_UNSPECIFIED,
	} {
		if is {
			tags++
		}
	}
	return tags > 0 || par.color_range == C.AVCOL_RANGE_JPEG, tags == 3
}

// movieTimescale returns a unit in which each stream starts at a whole number; 0: the usual one.
func (m header) movieTimescale() int {
	scale := int64(1)
	late := false
	for _, st := range m.outputs() {
		scale = lcm(scale, int64(st.time_base.den))
		if scale <= 0 || scale > 1<<30 {
			return 90000
		}
	}
	for _, s := range append(slices.Clone(m.In.Others), m.In.Video) {
		if t := s.StartTime(); t != av.NoPTS && t != 0 {
			late = true
		}
	}
	if !late || scale <= 1000 {
		return 0
	}
	return int(scale)
}

func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// exactTimes makes MP4 count in the unit of the input, so that differences of times survive.
func (m header) exactTimes(d **C.AVDictionary) error {
	const finest = 1e7 // durations have 32 bits
	den := m.Unit.Den
	if den <= 0 || den > finest {
		return target.Refusal("filter the file whole", "a part cannot be exact in units of %d/%d s", m.Unit.Num, den)
	}
	in, half := rational(m.In.Video.TimeBase()), C.AVRational{1, 2} // where each field has a picture
	if unit := fraction(m.Unit); unit != in && C.av_cmp_q(unit, C.av_mul_q(in, half)) != 0 {
		return target.Refusal("filter the file whole", "a part has the times of its source, and the filters change their unit")
	}
	set(d, "video_track_timescale", strconv.Itoa(den))
	set(d, "movie_timescale", strconv.Itoa(den))
	if m.Precoded {
		set(d, "use_editlist", "0") // times begin at 0, and are read back as they are
	}
	return nil
}

type timecodes struct{ *file }

// move lets timecodes count on to the first picture, at the output's rate.
func (m timecodes) move(first int64) {
	rate, pictures := m.sourceRate(), 0
	begin := inputStream(m.In.Video).start_time
	cut := m.In.Cut && rate.num > 0 && begin != C.AV_NOPTS_VALUE
	if !cut && !m.Has(fidelity.Rate) {
		return
	}
	if cut {
		us := C.AVRational{1, 1000000}
		later := C.int64_t(m.Micros(first)) - C.int64_t(m.In.Shift) - C.av_rescale_q(begin, inputStream(m.In.Video).time_base, us)
		pictures = int(C.av_rescale_q(later, us, C.av_inv_q(rate)))
	}
	dictionaries := []**C.AVDictionary{&m.oc.metadata}
	for _, st := range m.outputs() {
		dictionaries = append(dictionaries, &st.metadata)
	}
	for _, d := range dictionaries {
		if code := metadata(*d, "timecode"); code != "" {
			if cut {
				code = av.LaterTimecode(code, astiav.NewRational(int(rate.num), int(rate.den)), pictures)
			}
			set(d, "timecode", m.atRate(code))
		}
	}
}

// atRate returns a timecode of the input as it counts at the output's rate, or "".
func (m timecodes) atRate(code string) string {
	if code == "" || !m.Has(fidelity.Rate) {
		return code
	}
	is := m.Shown.Rate
	if !is.Known() {
		is = m.Shown.MeanRate
	}
	was := m.sourceRate()
	other := av.TimecodeAt(code, astiav.NewRational(int(was.num), int(was.den)), astiav.NewRational(is.Num, is.Den))
	if other != code {
		m.Told.Add(fidelity.Video, "", "timecode")
	}
	if other == "" {
		m.Warn("the timecode %s is left out: there is none at %.6g pictures a second", code, is.Float64())
	}
	return other
}

// keep makes the timecode of the first picture the file's, unless the file has one.
func (m timecodes) keep(code string) {
	if code == "" || !m.Carries() || m.In.Part {
		return
	}
	given := metadata(m.oc.metadata, "timecode")
	for _, st := range m.outputs() {
		given = cmp.Or(given, metadata(st.metadata, "timecode"))
	}
	switch {
	case given == "" && !forecast(m).lacks(fidelity.Item{Kind: fidelity.Video}, "timecode"):
		set(&m.oc.metadata, "timecode", code)
	case given != code:
		m.Lost.Add(units.Timecode.String())
	}
}

func (m timecodes) sourceRate() C.AVRational {
	return C.av_guess_frame_rate((*C.AVFormatContext)(av.FormatPtr(m.In.Context)), inputStream(m.In.Video), nil)
}
