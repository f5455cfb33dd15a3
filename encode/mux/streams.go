package mux

//#include <stdlib.h>
//#include <libavformat/avformat.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/audio"
	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
)

// streams are the tracks beside the video.
type streams struct {
	*file
	tracks map[int]*track // by input stream
	mapped bool           // tracks exist; until then, first packets wait in early
	early  []*astiav.Packet
	// undescribed are streams that are left out because the input does not describe them: damage
	// if they have packets.
	undescribed map[int]bool
}

// mapStreams makes an output stream for each that the container can hold, in the input's order.
func (m *streams) mapStreams() error {
	m.mapped = true
	all := append(slices.Clone(m.In.Others), m.In.Video)
	slices.SortFunc(all, func(a, b *astiav.Stream) int { return a.Index() - b.Index() })
	if m.Form.Family == formats.Broadcast { // begins with the video
		all = slices.DeleteFunc(all, func(s *astiav.Stream) bool { return s.Index() == m.In.Video.Index() })
		all = slices.Insert(all, 0, m.In.Video)
	}
	for _, s := range all {
		if s.Index() == m.In.Video.Index() {
			if m.video = C.avformat_new_stream(m.oc, nil); m.video == nil {
				return errors.New("encode: out of memory")
			}
			continue
		}
		if m.Carries() {
			if err := m.addStream(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *streams) addStream(s *astiav.Stream) error {
	c := m.candidate(s)
	in, par := c.in, c.in.codecpar
	switch {
	case in.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0 && m.Form.Attachments:
		return m.attachPicture(s)
	case c.silent():
		return nil
	case par.codec_type == C.AVMEDIA_TYPE_AUDIO && par.sample_rate <= 0: // cut off early
		m.undescribed[s.Index()] = true
		m.leaveOut(s, "the input does not describe its audio")
		return nil
	case par.codec_type == C.AVMEDIA_TYPE_VIDEO && par.width <= 0 && par.codec_id != C.AV_CODEC_ID_NONE:
		m.undescribed[s.Index()] = true
		m.leaveOut(s, "the input does not describe its pictures")
		return nil
	case c.holds() && c.readsBack():
		if err := c.refusal(); err != nil {
			m.spoilt(s, fmt.Errorf("%s takes none of its first packets: %w", m.Format, err))
			return nil
		}
		return m.copyStream(c)
	case par.codec_type == C.AVMEDIA_TYPE_SUBTITLE:
		if to, ok := c.textFor(); ok {
			return m.convertSubtitles(s, to)
		}
	case par.codec_type == C.AVMEDIA_TYPE_AUDIO && m.Form.Audio != formats.Dropped:
		err := m.convertAudio(s)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, astiav.ErrInvaliddata) && C.avformat_query_codec(m.oc.oformat, par.codec_id, C.FF_COMPLIANCE_NORMAL) == 1:
			m.spoilt(s, fmt.Errorf("its header is damaged: %w", err))
			return nil
		}
	}
	why := m.Format + " cannot hold it"
	if par.codec_id == C.AV_CODEC_ID_NONE {
		why = "its codec is not known to FFmpeg"
	}
	m.leaveOut(s, why)
	return nil
}

func (m *streams) leaveOut(s *astiav.Stream, why string) {
	m.Told.Add(fidelity.Stream, strconv.Itoa(s.Index()), "")
	m.Warn("%s is left out: %s", streamName(s), why)
}

// nameEmpty names the streams that MP4 leaves out, as they had no packet.
func (m *streams) nameEmpty() {
	if !m.MP4() {
		return
	}
	for _, s := range m.In.Others {
		l := m.tracks[s.Index()]
		if l != nil && m.given[int(l.st.index)] == nil && l.st.disposition&C.AV_DISPOSITION_ATTACHED_PIC == 0 {
			m.leaveOut(s, "it is empty")
		}
	}
}

func (m *streams) spoilt(s *astiav.Stream, reason error) {
	m.leftOut++
	m.leaveOut(s, reason.Error())
}

func (m *streams) newStream(s *astiav.Stream) (*C.AVStream, error) {
	st := C.avformat_new_stream(m.oc, nil)
	if st == nil {
		return nil, errors.New("encode: out of memory")
	}
	in := inputStream(s)
	st.disposition = in.disposition
	st.time_base = in.time_base
	st.avg_frame_rate, st.r_frame_rate = in.avg_frame_rate, in.r_frame_rate
	st.sample_aspect_ratio = in.sample_aspect_ratio
	st.discard = in.discard
	if m.Form.KeepsIDs {
		st.id = in.id // the PID
	}
	if err := av.Error(int(C.av_dict_copy(&st.metadata, in.metadata, 0))); err != nil {
		return st, err
	}
	stampTime(&st.metadata)
	if to := m.Form.LanguageCode(metadata(st.metadata, "language")); to != "" {
		set(&st.metadata, "language", to)
	}
	keepNames(m.Form, &st.metadata, "encoding_tool")
	nameHandler(m.Form, st)
	return st, nil
}

func (m *streams) candidate(s *astiav.Stream) *candidate {
	c := &candidate{file: m.file, s: s, in: inputStream(s)}
	for _, p := range m.early {
		if p.StreamIndex() == s.Index() {
			c.early = append(c.early, (*C.AVPacket)(av.PacketPtr(p)))
		}
	}
	return c
}

func (m *streams) add(s *astiav.Stream, st *C.AVStream) *track {
	t := &track{file: m.file, st: st, from: inputStream(s).time_base, last: av.NoPTS}
	m.tracks[s.Index()] = t
	return t
}

func (m *streams) copyStream(c *candidate) error {
	st, err := m.newStream(c.s)
	if err != nil {
		return err
	}
	if err := av.Error(int(C.vf_copy_parameters(st.codecpar, c.in.codecpar, c.codecTag()))); err != nil {
		return err
	}
	m.add(c.s, st)
	return nil
}

func (m *streams) attachPicture(s *astiav.Stream) error {
	in := inputStream(s)
	st := C.avformat_new_stream(m.oc, nil)
	if st == nil {
		return errors.New("encode: out of memory")
	}
	pic := in.attached_pic
	st.codecpar.codec_type, st.codecpar.codec_id = C.AVMEDIA_TYPE_ATTACHMENT, in.codecpar.codec_id
	if err := av.SetExtradata(unsafe.Pointer(st.codecpar), av.Slice((*byte)(pic.data), int(pic.size))); err != nil {
		return err
	}
	C.av_dict_copy(&st.metadata, in.metadata, 0)
	kind, ending := "image/jpeg", "jpg"
	if in.codecpar.codec_id == C.AV_CODEC_ID_PNG {
		kind, ending = "image/png", "png"
	}
	setDefault(&st.metadata, "mimetype", kind)
	setDefault(&st.metadata, "filename", "cover."+ending)
	return nil
}

func (m *streams) convertSubtitles(s *astiav.Stream, to C.enum_AVCodecID) error {
	subs := (*C.vf_subs)(C.calloc(1, C.sizeof_vf_subs))
	if err := av.Error(int(C.vf_subs_open(subs, inputStream(s), to))); err != nil {
		C.free(unsafe.Pointer(subs))
		m.leaveOut(s, fmt.Sprintf("it cannot be converted: %v", err))
		return nil
	}
	st, err := m.newStream(s)
	m.add(s, st).subs = subs // Close frees it from here on
	if err != nil {
		return err
	}
	m.Told.Add(fidelity.Stream, strconv.Itoa(s.Index()), "codec")
	m.Warn("%s becomes %s", streamName(s), C.GoString(C.avcodec_get_name(to)))
	return av.Error(int(C.avcodec_parameters_from_context(st.codecpar, subs.enc)))
}

func (m *streams) convertAudio(s *astiav.Stream) error {
	a, err := audio.For(s, m.Form, !m.CodeSound, m.oc.oformat.flags&C.AVFMT_GLOBALHEADER != 0)
	if err != nil {
		return err
	}
	st, err := m.newStream(s)
	if st == nil {
		a.Close()
		return err
	}
	m.add(s, st).aud = a // for Close
	if err != nil {
		return err
	}
	dropTags(&st.metadata, fidelity.OfCoding)
	st.time_base = rational(a.Unit())
	codec, how, changed := a.Result()
	for _, key := range changed {
		m.Told.Add(fidelity.Stream, strconv.Itoa(s.Index()), key)
	}
	why := m.Format + " cannot hold it"
	if slices.Contains(m.Form.Misread, C.GoString(C.avcodec_get_name(inputStream(s).codecpar.codec_id))) {
		why = "players misread it in " + m.Format
	}
	m.Warn("%s becomes %s%s: %s", streamName(s), codec, how, why)
	return a.Describe(unsafe.Pointer(st.codecpar))
}

// take writes a packet of the input, which it borrows, or keeps it until the header is written.
func (m *streams) take(p *astiav.Packet, open bool) error {
	if i := p.StreamIndex(); !m.Carries() || m.mapped && m.tracks[i] == nil {
		if m.undescribed[i] {
			delete(m.undescribed, i)
			m.leftOut++
		}
		return nil
	}
	own := p.Clone()
	if own == nil {
		return errors.New("encode: out of memory")
	}
	if !open {
		m.early = append(m.early, own)
		return nil
	}
	l := m.tracks[own.StreamIndex()]
	return m.carryAll(l.visible(own))
}

// carryAll writes packets, which it takes.
func (m *streams) carryAll(list []*astiav.Packet) error {
	for i, p := range list {
		if err := m.tracks[p.StreamIndex()].carry(p); err != nil {
			for _, rest := range list[i+1:] {
				rest.Free()
			}
			return err
		}
	}
	return nil
}

// showEarly removes hidden packets, and those without a track, from the packets that wait.
func (m *streams) showEarly() {
	waiting := m.early
	m.early = nil
	for _, p := range waiting {
		if l := m.tracks[p.StreamIndex()]; l != nil {
			m.early = append(m.early, l.visible(p)...)
		} else {
			p.Free()
		}
	}
}

func (m *streams) flushAudio() error {
	for _, l := range m.tracks {
		if l.aud != nil {
			if err := l.pushAudio(nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *streams) discard() {
	for _, p := range m.early {
		p.Free()
	}
	for _, l := range m.tracks {
		l.close()
	}
	m.early, m.tracks = nil, nil
}

// finishSound writes the rest of the sound, and names the cut.
func (m *streams) finishSound() error {
	const padding = 10 // parts of a second that codecs add
	var names []string
	for i, l := range m.tracks {
		if err := l.writeSound(true); err != nil {
			return err
		}
		if n := l.sound.rest(); n > l.sound.rate/padding {
			names = append(names, fmt.Sprintf("%.1f s of stream %d", float64(n)/float64(l.sound.rate), i))
		}
	}
	if len(names) > 0 {
		m.Warn("sound is cut off: %s begins and ends with the pictures, %s do not", m.Format, strings.Join(names, ", "))
	}
	return nil
}
