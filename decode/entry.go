package decode

//#include "glue.h"
//#include <libavutil/pixdesc.h>
import "C"

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
)

// notCuttable returns why decoding from the middle may give other pictures than decoding from the
// start, or "". In MPEG-4 part 2, for one, the first frame alone names the arithmetic of its
// encoder.
func notCuttable(par *astiav.CodecParameters) string {
	id := par.CodecID()
	switch id {
	case astiav.CodecIDH264:
		// The decoder depends on x264's version here, which is in the first frame only.
		if d := C.av_pix_fmt_desc_get(C.enum_AVPixelFormat(par.PixelFormat())); d == nil || d.nb_components > 1 && d.log2_chroma_w == 0 {
			return "how H.264 in 4:4:4 is decoded may depend on its first frame"
		}
		return ""
	case astiav.CodecIDHevc, astiav.CodecIDMpeg1Video, astiav.CodecIDMpeg2Video, astiav.CodecIDVp8, astiav.CodecIDVp9, astiav.CodecIDAv1:
		return ""
	}
	if intraOnly(id) {
		return ""
	}
	return fmt.Sprintf("not every key frame of %s can be relied on", id)
}

// intraOnly reports whether no picture of a codec needs another.
func intraOnly(id astiav.CodecID) bool {
	d := C.avcodec_descriptor_get(C.enum_AVCodecID(id))
	return d != nil && d.props&C.AV_CODEC_PROP_INTRA_ONLY != 0
}

// canBegin reports whether decoding can begin at a packet of a stream that is marked as a key
// frame.
func canBegin(s *astiav.Stream, p *astiav.Packet) bool {
	par := (*C.AVStream)(av.StreamPtr(s)).codecpar
	return isEntry(s.CodecParameters().CodecID(), av.Slice((*byte)(par.extradata), int(par.extradata_size)), payload(p))
}

// isEntry reports whether a decoder that starts at a packet marked as a key frame gives, from its
// time on, the same pictures as one that started earlier. The codec must be cuttable.
func isEntry(codec astiav.CodecID, extradata, packet []byte) bool {
	switch codec {
	case astiav.CodecIDH264:
		return h264Entry(nalUnits(packet, extradata, 4))
	case astiav.CodecIDHevc:
		return hevcEntry(nalUnits(packet, extradata, 21))
	case astiav.CodecIDMpeg1Video, astiav.CodecIDMpeg2Video:
		return mpegEntry(packet)
	}
	return true
}

// showsPicture reports whether a packet gives a picture. In VP8 and VP9 it may only prepare one.
func showsPicture(codec astiav.CodecID, packet []byte) bool {
	switch {
	case len(packet) == 0:
		return false
	case codec == astiav.CodecIDVp8:
		return packet[0]&0x10 != 0
	case codec == astiav.CodecIDVp9:
		return vp9Shows(packet)
	}
	return true
}

// vp9Shows reads the start of VP9's uncompressed header: marker (2 bits), profile (2, and 1 more
// in profile 3), show_existing_frame, frame_type, show_frame. A superframe, marked by its last
// byte, ends in a frame that is shown.
func vp9Shows(b []byte) bool {
	if b[len(b)-1]&0xe0 == 0xc0 {
		return true
	}
	bits := b[0] << 4
	if b[0]&0x30 == 0x30 {
		bits <<= 1
	}
	return bits&0x80 != 0 || bits&0x20 != 0
}

// headersOf returns size, shape and colour as given in a key frame's packet, for codecs whose
// streams may change them: a part after a change would be encoded differently.
func headersOf(codec astiav.CodecID, extradata, packet []byte) (all []byte) {
	switch codec {
	case astiav.CodecIDH264:
		for _, u := range nalUnits(packet, extradata, 4) {
			if u[0]&31 == 7 {
				all = append(all, u...)
			}
		}
	case astiav.CodecIDHevc:
		for _, u := range nalUnits(packet, extradata, 21) {
			if u[0]>>1&63 == 33 {
				all = append(all, u...)
			}
		}
	case astiav.CodecIDMpeg1Video, astiav.CodecIDMpeg2Video:
		for _, u := range startCodeUnits(packet) {
			if u[0] == 0xb3 && len(u) >= 5 { // sides, aspect and rate
				all = append(all, u[:5]...)
			}
		}
	}
	return bytes.TrimRight(all, "\x00")
}

// nalUnits returns the units of a packet up to the first damage. The codec's header has the size of
// lengths at the given place.
func nalUnits(packet, extradata []byte, at int) [][]byte {
	list, _ := units.NALUnits(packet, units.NALSize(extradata, at))
	return list
}

func startCodeUnits(b []byte) [][]byte { return nalUnits(b, nil, 0) }

// h264Entry accepts an IDR picture, or a recovery point that is exact and immediate (D.2.8), as in
// open GOPs, but no recovery over several frames.
func h264Entry(list [][]byte) bool {
	exact := false
	for _, u := range list {
		switch u[0] & 31 {
		case 5:
			return true
		case 6:
			exact = exact || exactRecovery(u[1:])
		case 1, 2:
			return exact
		}
	}
	return false
}

// exactRecovery looks for an SEI message of type 6 with recovery_frame_cnt 0 and exact_match_flag
// 1.
func exactRecovery(sei []byte) bool {
	for kind, body := range units.Messages(sei) {
		if kind == 6 && len(body) > 0 {
			return body[0]&0xc0 == 0xc0
		}
	}
	return false
}

// hevcEntry accepts the standard's intra random access points: types 16 to 21.
func hevcEntry(list [][]byte) bool {
	for _, u := range list {
		if kind := u[0] >> 1 & 63; kind < 32 {
			return kind >= 16 && kind <= 21
		}
	}
	return false
}

// mpegEntry accepts an I picture after its own sequence header, which resets settings of headers
// in between.
func mpegEntry(b []byte) bool {
	sequence := false
	for _, u := range startCodeUnits(b) {
		switch {
		case u[0] == 0xb3:
			sequence = true
		case u[0] == 0 && len(u) > 2:
			return sequence && binary.BigEndian.Uint16(u[1:])>>3&7 == 1
		}
	}
	return false
}
