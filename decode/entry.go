package decode

//#include <libavcodec/avcodec.h>
//#include <libavutil/pixdesc.h>
import "C"

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/asticode/go-astiav"
)

// notCuttable says why decoding a codec cannot begin anew in its midst with the pictures that come of reading
// from the start, "" when it can. It is a short list on purpose: of MPEG-4 part 2, for one, the first frame
// alone may say by which program's arithmetic the rest is decoded.
func notCuttable(par *astiav.CodecParameters) string {
	id := par.CodecID()
	switch id {
	case astiav.CodecIDH264:
		// The decoder goes by x264's version here, which stands in the first frame only.
		if d := C.av_pix_fmt_desc_get(C.enum_AVPixelFormat(par.PixelFormat())); d == nil || d.nb_components > 1 && d.log2_chroma_w == 0 {
			return "how H.264 in 4:4:4 is decoded may depend on its first frame"
		}
		return ""
	case astiav.CodecIDHevc, astiav.CodecIDMpeg1Video, astiav.CodecIDMpeg2Video, astiav.CodecIDVp8, astiav.CodecIDVp9, astiav.CodecIDAv1:
		return ""
	}
	if d := C.avcodec_descriptor_get(C.enum_AVCodecID(id)); d != nil && d.props&C.AV_CODEC_PROP_INTRA_ONLY != 0 {
		return ""
	}
	return fmt.Sprintf("not every key frame of %s can be relied on", id)
}

// isEntry tells whether a packet that is marked as a key frame is a place to begin: from its time on, a decoder
// that starts there gives the very pictures of one that started earlier. The codec is one that can be cut.
func isEntry(codec astiav.CodecID, extradata, packet []byte) bool {
	switch codec {
	case astiav.CodecIDH264:
		return h264Entry(nalUnits(packet, nalSize(extradata, 4)))
	case astiav.CodecIDHevc:
		return hevcEntry(nalUnits(packet, nalSize(extradata, 21)))
	case astiav.CodecIDMpeg1Video, astiav.CodecIDMpeg2Video:
		return mpegEntry(packet)
	}
	return true
}

// shows tells whether a packet gives a picture of its own; those of VP8 and VP9 may only prepare one.
func shows(codec astiav.CodecID, packet []byte) bool {
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

// vp9Shows reads the begin of VP9's uncompressed header: marker (2 bits), profile (2, and 1 more in profile 3),
// show_existing_frame, frame_type, show_frame. A superframe, which its last byte marks, ends in a frame that is shown.
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

// headersOf returns what a key frame's packet itself says of size, shape and colour, as far as it does and the codec
// is one whose streams change in that: a part that begins behind a change would be coded in another way.
func headersOf(codec astiav.CodecID, extradata, packet []byte) (all []byte) {
	switch codec {
	case astiav.CodecIDH264:
		for u := range nalUnits(packet, nalSize(extradata, 4)) {
			if u[0]&31 == 7 {
				all = append(all, u...)
			}
		}
	case astiav.CodecIDHevc:
		for u := range nalUnits(packet, nalSize(extradata, 21)) {
			if u[0]>>1&63 == 33 {
				all = append(all, u...)
			}
		}
	case astiav.CodecIDMpeg1Video, astiav.CodecIDMpeg2Video:
		for u := range startCodeUnits(packet) {
			if u[0] == 0xb3 && len(u) >= 5 { // sides, aspect and rate
				all = append(all, u[:5]...)
			}
		}
	}
	return bytes.TrimRight(all, "\x00")
}

// nalSize returns how many bytes before each NAL unit tell its length, as avcC or hvcC say at the given place;
// 0 means that start codes divide them.
func nalSize(extradata []byte, at int) int {
	if len(extradata) <= at || extradata[0] != 1 {
		return 0
	}
	return int(extradata[at]&3) + 1
}

// nalUnits yields the NAL units of a packet, none of them empty. What is broken ends it.
func nalUnits(b []byte, size int) iter.Seq[[]byte] {
	if size == 0 {
		return startCodeUnits(b)
	}
	return func(yield func([]byte) bool) {
		for len(b) > size {
			n := 0
			for _, c := range b[:size] {
				n = n<<8 | int(c)
			}
			b = b[size:]
			if n == 0 || n > len(b) || !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}

// startCodeUnits yields what lies between codes of 00 00 01; zeros behind a unit stay with it.
func startCodeUnits(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		from := -1
		for i := 0; i+3 <= len(b); i++ {
			if b[i] != 0 || b[i+1] != 0 || b[i+2] != 1 {
				continue
			}
			if from >= 0 && from < i && !yield(b[from:i]) {
				return
			}
			from = i + 3
			i += 2
		}
		if from >= 0 && from < len(b) {
			yield(b[from:])
		}
	}
}

// h264Entry takes an IDR picture, or one with a recovery point that is exact and at once (D.2.8), as open GOPs have.
// A recovery over several frames, as of periodic intra refresh, is none.
func h264Entry(units iter.Seq[[]byte]) bool {
	exact := false
	for u := range units {
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

// exactRecovery looks for an SEI message of type 6 with recovery_frame_cnt 0 and exact_match_flag 1: two bits set.
func exactRecovery(sei []byte) bool {
	sei = unescaped(sei)
	for len(sei) > 2 {
		kind, rest := seiNumber(sei)
		size, rest := seiNumber(rest)
		if size > len(rest) {
			return false
		}
		if kind == 6 && size > 0 {
			return rest[0]&0xc0 == 0xc0
		}
		sei = rest[size:]
	}
	return false
}

// seiNumber reads a number that is written as bytes to be added up, the last of which is not 255.
func seiNumber(b []byte) (n int, rest []byte) {
	for i, c := range b {
		n += int(c)
		if c != 0xff {
			return n, b[i+1:]
		}
	}
	return n, nil
}

// unescaped takes out the 3 of every 00 00 03.
func unescaped(b []byte) []byte {
	out, zeros := make([]byte, 0, len(b)), 0
	for _, c := range b {
		if zeros >= 2 && c == 3 {
			zeros = 0
			continue
		}
		zeros++
		if c != 0 {
			zeros = 0
		}
		out = append(out, c)
	}
	return out
}

// hevcEntry takes the pictures that the standard calls intra random access points: types 16 to 21.
func hevcEntry(units iter.Seq[[]byte]) bool {
	for u := range units {
		if kind := u[0] >> 1 & 63; kind < 32 {
			return kind >= 16 && kind <= 21
		}
	}
	return false
}

// mpegEntry takes an I picture behind a sequence header of its own, which resets what headers between may have set.
func mpegEntry(b []byte) bool {
	sequence := false
	for u := range startCodeUnits(b) {
		switch {
		case u[0] == 0xb3:
			sequence = true
		case u[0] == 0 && len(u) > 2:
			return sequence && binary.BigEndian.Uint16(u[1:])>>3&7 == 1
		}
	}
	return false
}
