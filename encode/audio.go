package encode

//#cgo pkg-config: libswresample
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
)

// audioConverter turns audio into AAC, which most containers take, FLAC, PCM or Opus.
type audioConverter struct {
	c   *C.vf_audio
	pkt *astiav.Packet // output of the encoder
}

// newAudioConverter is for packets with times in a unit.
func newAudioConverter(from *C.AVCodecParameters, unit C.AVRational, to C.vf_sound, globalHeader bool) (*audioConverter, error) {
	a := &audioConverter{c: (*C.vf_audio)(C.calloc(1, C.sizeof_vf_audio))}
	global := C.int(0)
	if globalHeader {
		global = 1
	}
	if err := av.Error(int(C.vf_audio_open(a.c, from, unit, &to, global))); err != nil {
		C.free(unsafe.Pointer(a.c))
		return nil, err
	}
	if a.pkt = astiav.AllocPacket(); a.pkt == nil {
		a.close()
		return nil, errors.New("out of memory")
	}
	return a, nil
}

func (a *audioConverter) close() {
	if a.c == nil {
		return
	}
	C.vf_audio_close(a.c)
	C.free(unsafe.Pointer(a.c))
	a.c = nil
	if a.pkt != nil {
		a.pkt.Free()
	}
}

// padding returns how many samples of silence the encoder puts in front.
func (a *audioConverter) padding() C.int { return a.c.enc.initial_padding }

// push takes a packet in, nil for the end, and hands on those that are ready, which it lends. It
// borrows p.
func (a *audioConverter) push(p *astiav.Packet, ready func(*C.AVPacket) error) error {
	var in *C.AVPacket
	if p != nil {
		in = (*C.AVPacket)(av.PacketPtr(p))
	}
	if err := av.Error(int(C.vf_audio_send(a.c, in))); err != nil {
		return fmt.Errorf("encode: convert audio: %w", err)
	}
	for {
		out := (*C.AVPacket)(av.PacketPtr(a.pkt))
		n := C.vf_audio_receive(a.c, out)
		if n <= 0 {
			if err := av.Error(int(n)); err != nil {
				return fmt.Errorf("encode: convert audio: %w", err)
			}
			return nil
		}
		err := ready(out)
		a.pkt.Unref()
		if err != nil {
			return err
		}
	}
}

// pushAudio converts a packet of a lane, nil for the end, and writes the packets that are ready.
func (m *muxer) pushAudio(l *lane, p *astiav.Packet) error {
	return l.aud.push(p, func(out *C.AVPacket) error { return m.carryTo(l, out, l.aud.c.enc.time_base) })
}

var (
	soundAAC  = C.vf_sound{codec: C.AV_CODEC_ID_AAC, format: C.AV_SAMPLE_FMT_FLTP}
	soundOpus = C.vf_sound{codec: C.AV_CODEC_ID_OPUS, format: C.AV_SAMPLE_FMT_S16, rate: 48000}
)

// lossless reports whether the samples of a stream are those that were recorded.
func lossless(par *C.AVCodecParameters) bool {
	d := C.avcodec_descriptor_get(par.codec_id)
	switch {
	case d == nil || d.props&C.AV_CODEC_PROP_LOSSLESS == 0:
		return false
	case par.codec_id == C.AV_CODEC_ID_DTS:
		return par.profile >= C.AV_PROFILE_DTS_HD_MA && par.profile <= C.AV_PROFILE_DTS_HD_MA_X_IMAX
	}
	return true
}

// pcmOf returns the PCM that keeps the samples of a stream.
func pcmOf(par *C.AVCodecParameters) C.vf_sound {
	switch C.av_get_packed_sample_fmt(C.enum_AVSampleFormat(par.format)) {
	case C.AV_SAMPLE_FMT_U8, C.AV_SAMPLE_FMT_S16:
		return C.vf_sound{codec: C.AV_CODEC_ID_PCM_S16LE, format: C.AV_SAMPLE_FMT_S16}
	case C.AV_SAMPLE_FMT_FLT:
		return C.vf_sound{codec: C.AV_CODEC_ID_PCM_F32LE, format: C.AV_SAMPLE_FMT_FLT}
	case C.AV_SAMPLE_FMT_DBL:
		return C.vf_sound{codec: C.AV_CODEC_ID_PCM_F64LE, format: C.AV_SAMPLE_FMT_DBL}
	}
	if bits := max(par.bits_per_raw_sample, par.bits_per_coded_sample); bits > 24 {
		return C.vf_sound{codec: C.AV_CODEC_ID_PCM_S32LE, format: C.AV_SAMPLE_FMT_S32}
	}
	return C.vf_sound{codec: C.AV_CODEC_ID_PCM_S24LE, format: C.AV_SAMPLE_FMT_S32, bits: 24}
}

// flacOf returns the FLAC that keeps the samples of PCM, if there is one.
func flacOf(pcm C.vf_sound, channels C.int) (C.vf_sound, bool) {
	const most = 8
	whole := pcm.codec == C.AV_CODEC_ID_PCM_S16LE || pcm.codec == C.AV_CODEC_ID_PCM_S24LE
	pcm.codec = C.AV_CODEC_ID_FLAC
	return pcm, whole && channels <= most
}

// sounds lists what sound that the format does not hold may become, the best first.
func (m *muxer) sounds(par *C.AVCodecParameters) (list []C.vf_sound) {
	if m.form.Family == formats.Broadcast {
		const rate = 48000 // MXF has no other
		list = append(list, C.vf_sound{codec: C.AV_CODEC_ID_PCM_S16LE, format: C.AV_SAMPLE_FMT_S16, rate: rate})
		if pcm := pcmOf(par); lossless(par) && pcm.codec != C.AV_CODEC_ID_PCM_S16LE {
			list = slices.Insert(list, 0, C.vf_sound{codec: C.AV_CODEC_ID_PCM_S24LE, format: C.AV_SAMPLE_FMT_S32, bits: 24, rate: rate})
		}
		return list
	}
	if m.form.Audio == formats.PCM {
		return []C.vf_sound{pcmOf(par)}
	}
	if m.form.Lossless != nil && lossless(par) && !m.opts.CodeSound {
		pcm := pcmOf(par)
		if flac, ok := flacOf(pcm, par.ch_layout.nb_channels); ok && slices.Contains(m.form.Lossless, "flac") {
			list = append(list, flac)
		}
		list = append(list, pcm)
	}
	return append(list, soundAAC)
}

// convertAudio makes a stream that the container holds from one that it cannot hold.
func (m *muxer) convertAudio(s *astiav.Stream) error {
	in := inputStream(s)
	var a *audioConverter
	var err error
	for _, to := range m.sounds(in.codecpar) {
		if a, err = newAudioConverter(in.codecpar, in.time_base, to, m.oc.oformat.flags&C.AVFMT_GLOBALHEADER != 0); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	st, err := m.newStream(s)
	if st == nil {
		a.close()
		return err
	}
	m.lanes[s.Index()] = &lane{st: st, from: in.time_base, last: av.NoPTS, aud: a} // for Close
	if err != nil {
		return err
	}
	dropTags(&st.metadata, fidelity.OfCoding)
	st.time_base = a.c.enc.time_base
	m.tellSound(s, a)
	return av.Error(int(C.avcodec_parameters_from_context(st.codecpar, a.c.enc)))
}

// tellSound says what becomes of a stream of sound.
func (m *muxer) tellSound(s *astiav.Stream, a *audioConverter) {
	from, to := inputStream(s).codecpar, a.c.enc
	tell := func(key string) { m.told.Add(fidelity.Stream, strconv.Itoa(s.Index()), key) }
	tell("codec")
	pcm := pcmOf(from)
	keeps := lossless(from) && to.sample_fmt == pcm.format && (to.codec_id == pcm.codec || to.codec_id == C.AV_CODEC_ID_FLAC)
	changes := ""
	if was, is := from.ch_layout.nb_channels, to.ch_layout.nb_channels; was != is {
		tell("channels")
		changes += fmt.Sprintf(", %d channels instead of %d", int(is), int(was))
	}
	if was, is := from.sample_rate, to.sample_rate; was != is {
		tell("sample_rate")
		changes += fmt.Sprintf(", %d Hz instead of %d", int(is), int(was))
	}
	how := fmt.Sprintf(" at %d kb/s", int64(to.bit_rate)/1000)
	if keeps && changes == "" {
		how = " without loss"
	}
	m.warn("%s becomes %s%s: %s", streamName(s), C.GoString(C.avcodec_get_name(to.codec_id)), how+changes, m.unheld(from))
}

// unheld says why a stream of sound is not copied.
func (m *muxer) unheld(par *C.AVCodecParameters) string {
	if slices.Contains(m.form.Misread, C.GoString(C.avcodec_get_name(par.codec_id))) {
		return "players misread it in " + m.opts.Format
	}
	return m.opts.Format + " cannot hold it"
}
