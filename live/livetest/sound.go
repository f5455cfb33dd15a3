package livetest

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// Flashing returns a clip of two seconds that is white and beeps at once: each half second, 0.2 s
// after its begin, for 0.1 s.
func Flashing(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flash.mp4")
	Program(t, "ffmpeg", append(e2e.Fields(`-v error -nostdin -threads 1 -f lavfi -i color=black:s=160x90:r=25:d=2
		-f lavfi -i aevalsrc=if(between(mod(t\,0.5)\,0.2\,0.3)\,0.5*sin(2*PI*1000*t)\,0):s=44100:d=2
		-vf drawbox=color=white:t=fill:enable=between(mod(t\,0.5)\,0.199\,0.299) -pix_fmt yuv420p -c:v libx264 -preset ultrafast -c:a aac`), path)...)
	return path
}

// Bright reports whether a picture is white in its middle.
func Bright(f *pipeline.Frame) bool {
	p := f.Planes[0]
	return p.Data[f.Height/2*p.Pitch+f.Width/2] > 128
}

// Beeps finds the beeps in a stream of Opus.
type Beeps struct {
	t       *testing.T
	decoder *astiav.CodecContext
	packet  *astiav.Packet
	frame   *astiav.Frame
	quiet   int // samples since the last loud one
	Loudest float32
}

// NewBeeps returns a decoder, which ends with the test.
func NewBeeps(t *testing.T) *Beeps {
	t.Helper()
	codec := astiav.FindDecoder(astiav.CodecIDOpus)
	b := &Beeps{t: t, decoder: astiav.AllocCodecContext(codec), packet: astiav.AllocPacket(), frame: astiav.AllocFrame(), quiet: opusRate}
	t.Cleanup(func() { b.decoder.Free(); b.packet.Free(); b.frame.Free() })
	b.decoder.SetSampleRate(opusRate)
	b.decoder.SetChannelLayout(astiav.ChannelLayoutStereo)
	e2e.Must(t, b.decoder.Open(codec, nil))
	return b
}

const opusRate = 48000

// Add decodes a packet that begins at a time, and returns when beeps begin in it.
func (b *Beeps) Add(data []byte, at time.Duration) (begins []time.Duration) {
	b.t.Helper()
	e2e.Must(b.t, b.packet.FromData(data))
	err := b.decoder.SendPacket(b.packet)
	b.packet.Unref()
	if err == nil {
		err = b.decoder.ReceiveFrame(b.frame)
	}
	if err != nil {
		b.t.Fatalf("%d bytes of Opus: %v", len(data), err)
	}
	defer b.frame.Unref()
	size, err := b.frame.SamplesBufferSize(1)
	e2e.Must(b.t, err)
	planes := make([]byte, size)
	if _, err := b.frame.SamplesCopyToBuffer(planes, 1); err != nil {
		b.t.Fatal(err)
	}
	for i := range b.frame.NbSamples() {
		x := math.Float32frombits(binary.LittleEndian.Uint32(planes[4*i:]))
		b.Loudest = max(b.Loudest, x)
		if x > -0.1 && x < 0.1 {
			b.quiet++
			continue
		}
		if b.quiet > opusRate/20 {
			begins = append(begins, at+time.Duration(i)*time.Second/opusRate)
		}
		b.quiet = 0
	}
	return begins
}
