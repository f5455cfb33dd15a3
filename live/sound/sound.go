// Package sound describes the sound beside live pictures: coded packets, on the clock of the
// pictures.
package sound

import (
	"errors"
	"math"
	"runtime"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Track describes how the packets of a source are coded. It does not change.
type Track struct {
	par *astiav.CodecParameters
}

// TrackOf copies the description of a stream.
func TrackOf(s *astiav.Stream) (*Track, error) {
	par := astiav.AllocCodecParameters()
	if par == nil {
		return nil, errors.New("sound: out of memory")
	}
	if err := s.CodecParameters().Copy(par); err != nil {
		par.Free()
		return nil, err
	}
	return newTrack(par), nil
}

// newTrack takes par.
func newTrack(par *astiav.CodecParameters) *Track {
	t := &Track{par}
	runtime.AddCleanup(t, func(par *astiav.CodecParameters) { par.Free() }, par)
	return t
}

// Decodable reports whether the track can be heard, not only copied.
func (t *Track) Decodable() bool { return astiav.FindDecoder(t.par.CodecID()) != nil }

// Parameters returns the description, which stays the track's.
func (t *Track) Parameters() *astiav.CodecParameters { return t.par }

// Describe makes a stream that takes the track's packets.
func (t *Track) Describe(s *astiav.Stream) error {
	s.SetTimeBase(astiav.NewRational(1, t.par.SampleRate()))
	err := t.par.Copy(s.CodecParameters())
	runtime.KeepAlive(t)
	return err
}

// Packet is a piece of coded sound. It is shared and read-only.
type Packet struct {
	Data   []byte
	At     time.Duration // on the clock of the pictures
	Length time.Duration
}

// PacketOf copies a packet of a stream, with At by the stream's own clock. It is false for one
// without a time or data.
func PacketOf(p *astiav.Packet, s *astiav.Stream) (Packet, bool) {
	if p.Pts() == av.NoPTS || p.Size() == 0 {
		return Packet{}, false
	}
	length := func(t int64) time.Duration {
		return time.Duration(math.Round(float64(t) * s.TimeBase().Float64() * float64(time.Second)))
	}
	return Packet{append([]byte(nil), p.Data()...), length(p.Pts()), length(p.Duration())}, true
}

// To fills a packet for FFmpeg, to be heard at a time, with times in a unit.
func (p Packet) To(out *astiav.Packet, unit astiav.Rational, at time.Duration) error {
	if err := out.FromData(p.Data); err != nil {
		return err
	}
	ticks := func(d time.Duration) int64 { return int64(math.Round(d.Seconds() / unit.Float64())) }
	out.SetPts(ticks(at))
	out.SetDts(ticks(at))
	out.SetDuration(ticks(p.Length))
	out.SetFlags(astiav.NewPacketFlags(astiav.PacketFlagKey))
	return nil
}

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
