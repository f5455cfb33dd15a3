package decode

import (
	"testing"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/e2e"
)

// FuzzSteps gives any bytes as the extradata of a codec and its packets, each behind its length in
// two bytes. The steps that they have are in range.
func FuzzSteps(f *testing.F) {
	codecs := []astiav.CodecID{astiav.CodecIDHevc, astiav.CodecIDVp9, astiav.CodecIDAv1, astiav.CodecIDMjpeg}
	for i, name := range []string{"hevc.mp4", "vp9.webm", "", "mjpeg.mkv"} {
		if name != "" {
			f.Add(uint8(i), seedOf(f, "testdata/seeds/"+name))
		}
	}
	// An image with a table of 16 bits beside one of 8.
	f.Add(uint8(3), append([]byte{0, 0, 0, 206, 0xff, 0xd8, 0xff, 0xdb, 0, 196, 0x10}, make([]byte, 195)...))
	f.Fuzz(func(t *testing.T, codec uint8, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		dec := astiav.AllocCodecContext(astiav.FindDecoder(codecs[int(codec)%len(codecs)]))
		defer dec.Free()
		next := func() []byte {
			n := min(int(data[0])<<8|int(data[1]), len(data)-2)
			part := data[2 : 2+n]
			data = data[2+n:]
			return part
		}
		if len(data) > 2 {
			if extra := next(); len(extra) > 0 {
				e2e.Must(t, dec.SetExtraData(extra))
			}
		}
		var s quantisers
		s.open(dec)
		defer s.close()
		p := astiav.AllocPacket()
		defer p.Free()
		const long = 5 * time.Second
		for n, began := uintptr(1), time.Now(); len(data) > 2; n++ {
			if err := p.FromData(next()); err != nil {
				return
			}
			s.packet(n, p)
			p.Unref()
			if step := s.of[n]; step < 0 || step > 1<<16 || len(s.of) > mostHeld {
				t.Fatalf("a step of %v, %d are held", step, len(s.of))
			}
			if d := time.Since(began); d > long {
				t.Fatalf("%d packets take %v", n, d)
			}
		}
	})
}

// seedOf returns a file's extradata and packets, each behind its length.
func seedOf(f *testing.F, path string) (b []byte) {
	fc := astiav.AllocFormatContext()
	e2e.Must(f, fc.OpenInput(path, nil, nil))
	defer fc.CloseInput()
	add := func(data []byte) { b = append(append(b, byte(len(data)>>8), byte(len(data))), data...) }
	add(fc.Streams()[0].CodecParameters().ExtraData())
	p := astiav.AllocPacket()
	defer p.Free()
	for fc.ReadFrame(p) == nil {
		add(p.Data())
		p.Unref()
	}
	return b
}
