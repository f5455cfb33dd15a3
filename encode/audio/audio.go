// Package audio codes sound that a file cannot hold as sound that it holds: AAC, FLAC, PCM or Opus.
package audio

//#cgo pkg-config: libavcodec libavutil libswresample
//#include <stdlib.h>
//#include "audio.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
)

// Converter codes the packets of a stream of sound anew. It is for one goroutine.
type Converter struct {
	c    *C.vf_audio
	from *C.AVCodecParameters // the caller's
	pkt  *astiav.Packet       // output of the encoder
}

// For returns a converter of a stream to the best sound that a format holds. Without lossless, it
// is coded with loss where the format has both. The stream must stay until the caller closes the
// converter.
func For(s *astiav.Stream, f formats.Format, lossless, globalHeader bool) (c *Converter, err error) {
	from := parameters(s.CodecParameters())
	for _, to := range choices(from, f, lossless) {
		if c, err = open(from, s.TimeBase(), to, globalHeader); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func parameters(p *astiav.CodecParameters) *C.AVCodecParameters {
	return (*C.AVCodecParameters)(av.ParametersPtr(p))
}

func open(from *C.AVCodecParameters, unit astiav.Rational, to C.vf_sound, globalHeader bool) (*Converter, error) {
	a := &Converter{c: (*C.vf_audio)(C.calloc(1, C.sizeof_vf_audio)), from: from}
	global := map[bool]C.int{true: 1}[globalHeader]
	if err := av.Error(int(C.vf_audio_open(a.c, from, C.AVRational{C.int(unit.Num()), C.int(unit.Den())}, &to, global))); err != nil {
		C.free(unsafe.Pointer(a.c))
		return nil, err
	}
	if a.pkt = astiav.AllocPacket(); a.pkt == nil {
		a.Close()
		return nil, errors.New("out of memory")
	}
	return a, nil
}

// Close frees the converter.
func (a *Converter) Close() {
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

// Padding returns how many samples of silence the encoder puts in front.
func (a *Converter) Padding() int { return int(a.c.enc.initial_padding) }

// Errors counts packets that could not be decoded, and gaps that are too long.
func (a *Converter) Errors() int64 { return int64(a.c.errors) }

// Unit returns the unit of the times of the packets that come out.
func (a *Converter) Unit() astiav.Rational { return astiav.NewRational(1, int(a.c.enc.sample_rate)) }

// Describe fills in an AVCodecParameters for the sound that comes out.
func (a *Converter) Describe(parameters unsafe.Pointer) error {
	return av.Error(int(C.avcodec_parameters_from_context((*C.AVCodecParameters)(parameters), a.c.enc)))
}

// Push takes a packet, nil for the end, which it borrows, and lends ready those that are ready.
func (a *Converter) Push(p *astiav.Packet, ready func(*astiav.Packet) error) error {
	var in *C.AVPacket
	if p != nil {
		in = (*C.AVPacket)(av.PacketPtr(p))
	}
	if err := av.Error(int(C.vf_audio_send(a.c, in))); err != nil {
		return fmt.Errorf("encode: convert audio: %w", err)
	}
	for {
		n := C.vf_audio_receive(a.c, (*C.AVPacket)(av.PacketPtr(a.pkt)))
		if n <= 0 {
			if err := av.Error(int(n)); err != nil {
				return fmt.Errorf("encode: convert audio: %w", err)
			}
			return nil
		}
		err := ready(a.pkt)
		a.pkt.Unref()
		if err != nil {
			return err
		}
	}
}

// Result returns the codec of the sound that comes out, by FFmpeg's name, how it is coded, and the
// keys of the properties that change, as package fidelity has them.
func (a *Converter) Result() (codec, how string, changed []string) {
	from, to := a.from, a.c.enc
	changed = []string{"codec"}
	pcm := pcmOf(from)
	keeps := isLossless(from) && to.sample_fmt == pcm.format && (to.codec_id == pcm.codec || to.codec_id == C.AV_CODEC_ID_FLAC)
	if was, is := from.ch_layout.nb_channels, to.ch_layout.nb_channels; was != is {
		changed = append(changed, "channels")
		how += fmt.Sprintf(", %d channels instead of %d", int(is), int(was))
	}
	if was, is := from.sample_rate, to.sample_rate; was != is {
		changed = append(changed, "sample_rate")
		how += fmt.Sprintf(", %d Hz instead of %d", int(is), int(was))
	}
	if keeps && how == "" {
		how = " without loss"
	} else {
		how = fmt.Sprintf(" at %d kb/s", int64(to.bit_rate)/1000) + how
	}
	return C.GoString(C.avcodec_get_name(to.codec_id)), how, changed
}

var (
	soundAAC  = C.vf_sound{codec: C.AV_CODEC_ID_AAC, format: C.AV_SAMPLE_FMT_FLTP}
	soundOpus = C.vf_sound{codec: C.AV_CODEC_ID_OPUS, format: C.AV_SAMPLE_FMT_S16, rate: 48000}
)

func isLossless(par *C.AVCodecParameters) bool {
	d := C.avcodec_descriptor_get(par.codec_id)
	switch {
	case d == nil || d.props&C.AV_CODEC_PROP_LOSSLESS == 0:
		return false
	case par.codec_id == C.AV_CODEC_ID_DTS:
		return par.profile >= C.AV_PROFILE_DTS_HD_MA && par.profile <= C.AV_PROFILE_DTS_HD_MA_X_IMAX
	}
	return true
}

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

func flacOf(pcm C.vf_sound, channels C.int) (C.vf_sound, bool) {
	const most = 8
	whole := pcm.codec == C.AV_CODEC_ID_PCM_S16LE || pcm.codec == C.AV_CODEC_ID_PCM_S24LE
	pcm.codec = C.AV_CODEC_ID_FLAC
	return pcm, whole && channels <= most
}

// FitsFLAC reports whether FLAC keeps the samples of a stream.
func FitsFLAC(p *astiav.CodecParameters) bool {
	par := parameters(p)
	_, ok := flacOf(pcmOf(par), par.ch_layout.nb_channels)
	return ok
}

// choices lists codecs for sound that a format cannot hold, the best first.
func choices(par *C.AVCodecParameters, f formats.Format, keep bool) (list []C.vf_sound) {
	if f.Family == formats.Broadcast {
		const rate = 48000 // MXF has no other
		list = append(list, C.vf_sound{codec: C.AV_CODEC_ID_PCM_S16LE, format: C.AV_SAMPLE_FMT_S16, rate: rate})
		if pcm := pcmOf(par); isLossless(par) && pcm.codec != C.AV_CODEC_ID_PCM_S16LE {
			list = slices.Insert(list, 0, C.vf_sound{codec: C.AV_CODEC_ID_PCM_S24LE, format: C.AV_SAMPLE_FMT_S32, bits: 24, rate: rate})
		}
		return list
	}
	if f.Audio == formats.PCM {
		return []C.vf_sound{pcmOf(par)}
	}
	if f.Lossless != nil && isLossless(par) && keep {
		pcm := pcmOf(par)
		if flac, ok := flacOf(pcm, par.ch_layout.nb_channels); ok && slices.Contains(f.Lossless, "flac") {
			list = append(list, flac)
		}
		list = append(list, pcm)
	}
	return append(list, soundAAC)
}

// Opus codes sound of any codec as Opus: stereo at 48 kHz, in packets of 20 ms. Pauses become
// silence, and damaged packets too. It is for one goroutine.
type Opus struct{ a *Converter }

// NewOpus returns a coder of packets that par describes, with times in a unit. The caller closes
// it.
func NewOpus(par *astiav.CodecParameters, unit astiav.Rational) (*Opus, error) {
	a, err := open(parameters(par), unit, soundOpus, true)
	if err != nil {
		return nil, err
	}
	return &Opus{a}, nil
}

// Code takes a packet, which it borrows, and hands on those that are ready, each with the time of
// its first sample. Data is valid during the call only. All errors are final.
func (o *Opus) Code(p *astiav.Packet, ready func(data []byte, at time.Duration)) error {
	return o.a.Push(p, func(out *astiav.Packet) error {
		at := astiav.RescaleQ(out.Pts(), o.a.Unit(), astiav.NewRational(1, 1_000_000))
		p := (*C.AVPacket)(av.PacketPtr(out))
		ready(unsafe.Slice((*byte)(p.data), int(p.size)), time.Duration(at)*time.Microsecond)
		return nil
	})
}

// Close frees the coder.
func (o *Opus) Close() { o.a.Close() }
