package mux

//#include "glue.h"
//#include <libavformat/avformat.h>
import "C"

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"unsafe"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
)

// digest sums up the packets of a stream in order, to compare the muxer's input with the file read
// back. Muxers change payloads, and may split them differently. The digest hashes the parts that
// survive:
//
//   - of H.264 and HEVC, coded slices without lengths or start codes, since Annex B and length
//     prefixes are exchanged, and parameter sets, delimiters and padding come and go;
//   - of AAC, raw frames: ADTS headers come and go;
//   - of AV1, units but delimiters and padding, which come and go;
//   - of text in MP4, packets with text: pauses are packets of their own there;
//   - of codecs in verbatim, all bytes as one string.
//
// Packets of other codecs are not compared: muxers or demuxers rewrite them (VP9, WavPack, ...).
// Differences of times are compared where each packet has a time: not in MPEG-TS, not of PCM, which
// is cut anew, and not of text in MP4. The length of any sound is compared.
type digest struct {
	kind    C.enum_AVMediaType
	form    func(d *digest, payload []byte) bool // hashes a payload; false if its form is wrong
	payload maphash.Hash
	times   maphash.Hash
	timed   bool
	unit    C.AVRational // of the times
	packets int64        // not counting empty ones
	last    int64        // time
	unknown bool         // it cannot be compared
	span    span
}

type span struct {
	begin, end, longest int64 // longest is of the packets
	known               bool
}

func (s *span) add(p *C.AVPacket, unit C.AVRational) {
	if p.pts == C.AV_NOPTS_VALUE {
		return
	}
	us := C.AVRational{1, 1000000}
	begin, end := int64(C.av_rescale_q(p.pts, unit, us)), int64(C.av_rescale_q(p.pts+p.duration, unit, us))
	if !s.known {
		s.begin, s.end = begin, end
	}
	s.known = true
	s.begin, s.end, s.longest = min(s.begin, begin), max(s.end, end), max(s.longest, end-begin)
}

// lasts allows for PCM that is cut anew, and for rounded times.
func (s span) lasts(want span) bool {
	const tolerance = 100_000
	off := (s.end - s.begin) - (want.end - want.begin)
	return !want.known || s.known && max(off, -off) <= tolerance+max(s.longest, want.longest)
}

var digestSeed = maphash.MakeSeed()

func newDigest(format string, st *C.AVStream) *digest {
	f := formats.Of(format)
	par := st.codecpar
	d := &digest{kind: par.codec_type, unit: st.time_base, form: formOf(f, par)}
	d.payload.SetSeed(digestSeed)
	d.times.SetSeed(digestSeed)
	d.timed = !f.Untimed && !isPCM(par.codec_id) && par.codec_id != C.AV_CODEC_ID_MOV_TEXT
	d.unknown = d.form == nil
	return d
}

// add borrows p.
func (d *digest) add(p *C.AVPacket) {
	if p.size == 0 {
		return
	}
	d.packets++
	d.span.add(p, d.unit)
	if d.unknown {
		return
	}
	payload := unsafe.Slice((*byte)(p.data), int(p.size))
	if !d.form(d, payload) {
		d.unknown = true
		return
	}
	at := int64(p.pts)
	if p.pts == C.AV_NOPTS_VALUE {
		at = int64(p.dts)
	}
	if d.packets > 1 {
		d.number(at - d.last)
	}
	d.last = at
}

func (d *digest) number(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	_, _ = d.times.Write(b[:])
}

// matches reports whether d may have been read back from want.
func (d *digest) matches(want *digest) bool {
	sound := want.kind == C.AVMEDIA_TYPE_AUDIO
	if d.kind != want.kind || sound && !d.span.lasts(want.span) {
		return false
	}
	if want.unknown {
		return true
	}
	if d.unknown || d.payload.Sum64() != want.payload.Sum64() {
		return false
	}
	comparable := d.timed && d.unit == want.unit
	return !comparable || d.packets == want.packets && d.times.Sum64() == want.times.Sum64()
}

var verbatim = []C.enum_AVCodecID{
	C.AV_CODEC_ID_MP2, C.AV_CODEC_ID_MP3, C.AV_CODEC_ID_AC3, C.AV_CODEC_ID_DTS,
	C.AV_CODEC_ID_MPEG1VIDEO, C.AV_CODEC_ID_MPEG2VIDEO,
}

// verbatimFiles lists codecs that all containers but MPEG-TS store byte for byte.
var verbatimFiles = []C.enum_AVCodecID{
	C.AV_CODEC_ID_FLAC, C.AV_CODEC_ID_ALAC, C.AV_CODEC_ID_VORBIS, C.AV_CODEC_ID_OPUS, C.AV_CODEC_ID_MPEG4, C.AV_CODEC_ID_MJPEG,
	C.AV_CODEC_ID_PNG, C.AV_CODEC_ID_VP8, C.AV_CODEC_ID_FFV1, C.AV_CODEC_ID_PRORES, C.AV_CODEC_ID_DNXHD, C.AV_CODEC_ID_SUBRIP, C.AV_CODEC_ID_ASS, C.AV_CODEC_ID_DVD_SUBTITLE,
}

// formOf returns nil for codecs that are not compared.
func formOf(f formats.Format, par *C.AVCodecParameters) func(*digest, []byte) bool {
	switch id := par.codec_id; {
	case id == C.AV_CODEC_ID_H264:
		return sliceForm(par, 4, func(unit byte) bool { kind := unit & 31; return kind >= 1 && kind <= 5 })
	case id == C.AV_CODEC_ID_HEVC:
		return sliceForm(par, 21, func(unit byte) bool { return unit>>1&63 < 32 })
	case id == C.AV_CODEC_ID_AV1:
		return (*digest).addAV1
	case id == C.AV_CODEC_ID_AAC && !channelsInside(par):
		return (*digest).addAAC
	case id == C.AV_CODEC_ID_MOV_TEXT:
		return (*digest).addText
	case slices.Contains(verbatim, id), id == C.AV_CODEC_ID_EAC3 && f.Family != formats.ISO,
		f.Family != formats.Transport && slices.Contains(verbatimFiles, id),
		f.Family != formats.Transport && isPCM(id), f.Family == formats.Raw && id == C.AV_CODEC_ID_RAWVIDEO:
		return (*digest).addAll
	}
	return nil
}

func isPCM(id C.enum_AVCodecID) bool {
	return id >= C.AV_CODEC_ID_FIRST_AUDIO && id < C.AV_CODEC_ID_ADPCM_IMA_QT
}

func (d *digest) addAll(payload []byte) bool {
	_, _ = d.payload.Write(payload)
	return true
}

func (d *digest) addAV1(payload []byte) bool {
	list, whole := units.OBUs(payload)
	for _, o := range list {
		const delimiter, redundant, tiles, padding = 2, 7, 8, 15
		if o.Kind != delimiter && o.Kind != redundant && o.Kind != tiles && o.Kind != padding {
			_, _ = d.payload.Write(o.Whole)
		}
		whole = whole && o.Sized
	}
	return whole
}

func (d *digest) addText(payload []byte) bool {
	if len(payload) > 2 {
		_, _ = d.payload.Write(payload)
	}
	return true
}

func (d *digest) addAAC(payload []byte) bool {
	if _, _, _, ok := readADTS(payload); !ok {
		return d.addAll(payload)
	}
	for len(payload) > 0 {
		h, frame, rest, _ := readADTS(payload)
		if frame == nil || h.channels == 0 {
			return false
		}
		_, _ = d.payload.Write(frame)
		payload = rest
	}
	return true
}

// channelsInside reports whether frames of AAC describe their channels.
func channelsInside(par *C.AVCodecParameters) bool {
	config := unsafe.Slice((*byte)(par.extradata), int(par.extradata_size))
	return len(config) >= 2 && config[1]>>3&15 == 0
}

// sliceForm hashes the NAL units of slices. Byte at of the extradata has the size of lengths.
func sliceForm(par *C.AVCodecParameters, at int, isSlice func(byte) bool) func(*digest, []byte) bool {
	size := units.NALSize(av.Slice((*byte)(par.extradata), int(par.extradata_size)), at)
	return func(d *digest, payload []byte) bool {
		list, whole := units.NALUnits(payload, size)
		for _, unit := range list {
			if isSlice(unit[0]) {
				_, _ = d.payload.Write(unit)
			}
		}
		return whole && len(list) > 0
	}
}

// adtsHeader describes a frame of AAC in a transport stream. Other containers store this once per
// track, so their muxers drop the headers.
type adtsHeader struct {
	object, frequency, channels int // as in an AudioSpecificConfig; 0 channels: the frame describes them
}

// readADTS reads a header (ISO/IEC 14496-3, 1.A.2.2). ok is false if b does not begin with one.
// frame is the data behind the header, nil if its length is wrong, and rest follows the frame.
func readADTS(b []byte) (h adtsHeader, frame, rest []byte, ok bool) {
	if len(b) < 7 || b[0] != 0xff || b[1]&0xf6 != 0xf0 {
		return h, nil, nil, false
	}
	h = adtsHeader{int(b[2]>>6) + 1, int(b[2] >> 2 & 15), int(b[2]&1<<2 | b[3]>>6)}
	header, end := 7, int(b[3]&3)<<11|int(b[4])<<3|int(b[5])>>5
	if b[1]&1 == 0 {
		header = 9 // a checksum
	}
	if end >= header && end <= len(b) {
		frame, rest = b[header:end], b[end:]
	}
	return h, frame, rest, true
}

// config returns the AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1): 5 bits of object type, 4 of
// the rate's index, 4 of channels. ok is false if it does not fit in them.
func (h adtsHeader) config() (config [2]byte, ok bool) {
	config = [2]byte{byte(h.object<<3 | h.frequency>>1), byte(h.frequency<<7 | h.channels<<3)}
	return config, h.channels > 0 && h.frequency < len(aacRates)
}

const aacLowComplexity = 2

var aacRates = []int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

func aacOf(par *C.AVCodecParameters) adtsHeader {
	rate := int(par.sample_rate)
	if par.profile == C.AV_PROFILE_AAC_HE || par.profile == C.AV_PROFILE_AAC_HE_V2 {
		rate /= 2 // coded at half the rate, which the extension doubles
	}
	channels := int(par.ch_layout.nb_channels)
	if channels == 8 {
		channels = 7
	}
	return adtsHeader{aacLowComplexity, max(0, slices.Index(aacRates, rate)), channels}
}
