package mux

//#include <libavformat/avformat.h>
import "C"

import (
	"slices"
)

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

// aacOf describes AAC by the demuxer's parameters.
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
