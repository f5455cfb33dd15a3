package sound

import (
	"errors"
	"time"

	"github.com/asticode/go-astiav"
)

// opusHead is the header of stereo at 48 kHz, without a cut.
var opusHead = []byte{'O', 'p', 'u', 's', 'H', 'e', 'a', 'd', 1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0}

// OpusTrack describes Opus as browsers send it.
func OpusTrack() (*Track, error) { return stereo(astiav.CodecIDOpus, 48000, 960, opusHead) }

// PCMTrack describes 16-bit samples, little endian, of two channels.
func PCMTrack(rate int) (*Track, error) { return stereo(astiav.CodecIDPcmS16Le, rate, 0, nil) }

func stereo(codec astiav.CodecID, rate, frame int, header []byte) (*Track, error) {
	par := astiav.AllocCodecParameters()
	if par == nil {
		return nil, errors.New("sound: out of memory")
	}
	par.SetMediaType(astiav.MediaTypeAudio)
	par.SetCodecID(codec)
	par.SetSampleRate(rate)
	par.SetChannelLayout(astiav.ChannelLayoutStereo)
	par.SetFrameSize(frame)
	if header != nil {
		if err := par.SetExtraData(header); err != nil {
			par.Free()
			return nil, err
		}
	}
	return newTrack(par), nil
}

// OpusLength returns how long a packet of Opus is heard, by its first bytes (RFC 6716, 3.1); 0 if
// it is invalid.
func OpusLength(b []byte) time.Duration {
	if len(b) == 0 {
		return 0
	}
	const unit = 2500 * time.Microsecond
	var frame time.Duration
	switch config := b[0] >> 3; {
	case config < 12: // 10, 20, 40, 60 ms
		frame = unit * time.Duration([]int{4, 8, 16, 24}[config%4])
	case config < 16: // 10, 20 ms
		frame = unit << (2 + config%2)
	default: // 2.5, 5, 10, 20 ms
		frame = unit << (config % 4)
	}
	n := time.Duration(1)
	switch b[0] & 3 {
	case 1, 2:
		n = 2
	case 3:
		if len(b) < 2 {
			return 0
		}
		n = time.Duration(b[1] & 63)
	}
	const most = 120 * time.Millisecond
	if n*frame > most {
		return 0
	}
	return n * frame
}
