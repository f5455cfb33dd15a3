package encode_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
)

// broadcast writes a clip, which the ffmpeg program makes of twelve pictures and a tone, as MXF.
func broadcast(t *testing.T, name string, args ...string) (*rig, *encode.Output, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	program(t, "ffmpeg", slices.Concat([]string{"-v", "fatal", "-nostdin"}, args, []string{path})...)
	r := newRigWith(t, path, decode.Options{Threads: 1})
	out := r.create(t, encode.Options{Format: "mxf", Encoder: "prores_ks", CRF: -1})
	_, err := r.copyVerified(out)
	return r, out, err
}

// samples returns the first sound of a file as 16-bit PCM.
func samples(t *testing.T, path string) []byte {
	t.Helper()
	return program(t, "ffmpeg", "-v", "fatal", "-i", path, "-map", "0:a:0", "-c:a", "pcm_s16le", "-f", "s16le", "-")
}

// heard returns the seconds from the first to the last sample at 48 kHz that is no silence.
func heard(pcm []byte) (from, to float64) {
	const quiet = 500 // silence, as codecs leave it
	from = math.Inf(1)
	for i := 0; i+1 < len(pcm); i += 2 {
		if v := int16(binary.LittleEndian.Uint16(pcm[i:])); v > quiet || v < -quiet {
			from, to = min(from, float64(i)/2/48000), float64(i)/2/48000
		}
	}
	return from, to
}

// MXF has no times: sound begins and ends with the pictures, and is heard with the ones that it
// was heard with.
func TestSoundOfMXF(t *testing.T) {
	const pictures = "-f lavfi -i testsrc2=s=64x48:r=25:d=0.48 "
	for _, c := range []struct {
		name, file, args string
		from, to         float64 // seconds that are heard
		said             string
	}{
		{"whole", "in.mkv", pictures + "-f lavfi -i sine=r=48000:d=0.48 -c:a pcm_s16le", 0, 0.48, ""},
		{"24 bits", "in.mkv", pictures + "-f lavfi -i sine=r=48000:d=0.3 -c:a pcm_s24le", 0, 0.3, ""},
		{"late", "in.mkv", pictures + "-itsoffset 0.1 -f lavfi -i sine=r=48000:d=0.2 -c:a pcm_s16le", 0.1, 0.3, ""},
		{"late, converted", "in.mkv", pictures + "-itsoffset 0.1 -f lavfi -i sine=r=44100:d=0.2 -c:a flac", 0.1, 0.3, ""},
		{"early", "in.mkv", "-itsoffset 0.2 " + pictures + "-f lavfi -i sine=r=48000:d=0.4 -c:a pcm_s16le", 0, 0.2, "0.2 s of stream 1"},
		{"long", "in.mkv", pictures + "-f lavfi -i sine=r=48000:d=2 -c:a pcm_s16le", 0, 0.48, "1.5 s of stream 1"},
		{"Windows Media", "in.wmv", pictures + "-f lavfi -i sine=r=44100:d=0.3 -c:a wmav2", 0, 0.3, ""},
		{"Ogg", "in.ogv", pictures + "-f lavfi -i sine=r=48000:d=0.4 -c:v libtheora -c:a libvorbis", 0, 0.4, ""},
		{"AVI", "in.avi", pictures + "-f lavfi -i sine=r=48000:d=0.3 -c:a libmp3lame", 0, 0.3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _, err := broadcast(t, c.file, strings.Fields(c.args)...)
			e2e.Must(t, err)
			said := strings.Join(r.said, "\n")
			if strings.Contains(said, "cut off") != (c.said != "") || !strings.Contains(said, c.said) {
				t.Errorf("said %q", said)
			}
			pcm := samples(t, r.path)
			if n := len(livetest.ShownAt(t, r.path)); len(pcm) != 2*1920*n {
				t.Errorf("%d bytes of sound for %d pictures", len(pcm), n)
			}
			from, to := heard(pcm)
			const codec = 0.05 // the longest packet of these
			if math.Abs(from-c.from) > codec || math.Abs(to-c.to) > codec {
				t.Errorf("heard from %.3f to %.3f s, not from %.3f to %.3f s", from, to, c.from, c.to)
			}
		})
	}
}

// Altered sound is damage.
func TestSoundOfMXFIsCompared(t *testing.T) {
	args := strings.Fields("-f lavfi -i testsrc2=s=64x48:r=25:d=0.48 -f lavfi -i sine=r=48000:d=0.48 -c:a pcm_s16le")
	r, out, err := broadcast(t, "in.mkv", args...)
	e2e.Must(t, err)
	file, pcm := e2e.Read(t, r.path), samples(t, r.path)
	at := bytes.Index(file, pcm[2*1920*3:2*1920*3+200])
	if at < 0 {
		t.Fatal("its sound is not found in the file")
	}
	file[at+50] ^= 4
	e2e.Put(t, r.path, file)
	if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), "audio pcm_s16le) is not what was written") {
		t.Error(err)
	}
}

// MXF has one rate: pictures that last longer are repeated, and two in a place are refused.
func TestRateOfMXF(t *testing.T) {
	const film = "-f lavfi -i testsrc2=s=320x240:r=%s:d=0.48 -fps_mode passthrough -enc_time_base 1:1000 -c:v ffv1 -vf "
	for _, c := range []struct {
		rate, filter string
		pictures     int64
		fails        bool
	}{
		{"25", `null`, 12, false},
		{"25", `select=not(between(n\,3\,5))`, 12, false},
		{"25", `setpts=PTS+gte(N\,1)*0.04/TB`, 13, false}, // as AVI with MP3
		{"30000/1001", `select=not(mod(n+1\,5))+lt(n\,9)`, 15, false},
		{"25", `setpts=PTS-0.03/TB*clip(N-4\,0\,4)`, 0, true},
	} {
		r, out, err := broadcast(t, "in.mkv", strings.Fields(strings.ReplaceAll(film, "%s", c.rate)+c.filter)...)
		if c.fails {
			if err == nil || !strings.Contains(err.Error(), "mxf holds pictures at a constant rate") {
				t.Errorf("%s: %v", c.filter, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		n, more := int64(len(livetest.ShownAt(t, r.path))), strings.Contains(strings.Join(r.said, ""), "some are repeated")
		if n != c.pictures || more != (c.pictures > out.Frames()) {
			t.Errorf("%s: %d frames of %d, said %q", c.filter, n, out.Frames(), r.said)
		}
	}
}
