package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"vidfilter/internal/e2e"
)

// A wrong bit of an AV1 frame corrupts pictures and is reported, but loses no frame: neither its
// own nor those that refer to it.
func TestSpoiltAV1(t *testing.T) {
	e2e.Start(t, true)
	src := clip(t, "spoilt.ivf", pictures+yuv+"-c:v libaom-av1 -cpu-used 8 -threads 1")
	whole := e2e.Read(t, src)
	want := len(frames(t, src))
	said := 0
	for i, f := range ivfFrames(whole) {
		const small = 60 // bytes, mostly headers
		if i == 0 || len(f) < small {
			continue
		}
		at := len(whole) - cap(f) + len(f)*7/10
		b := bytes.Clone(whole)
		b[at] ^= 0x10
		out, _, code := attempt(t, put(t, fmt.Sprintf("spoilt-%d.ivf", i), b), "mkv", "")
		if got := len(frames(t, out)); got != want {
			t.Errorf("frame %d spoilt: %d frames of %d, exit code %d", i, got, want, code)
		}
		if code == 6 {
			said++
		}
	}
	if said == 0 {
		t.Error("no damage was found")
	}
}

// ivfFrames returns the frames of an IVF file, whose capacities reach to its end.
func ivfFrames(b []byte) (frames [][]byte) {
	const header, frameHeader = 32, 12
	for at := header; at+frameHeader <= len(b); {
		n := int(binary.LittleEndian.Uint32(b[at:]))
		at += frameHeader
		frames = append(frames, b[at:at+n])
		at += n
	}
	return frames
}
