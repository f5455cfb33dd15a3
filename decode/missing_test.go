package decode_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
)

// without writes a bare stream of H.264 or HEVC without the pictures from first to last, and with
// all that is beside them.
func without(t *testing.T, path string, first, last int) string {
	t.Helper()
	b := e2e.Read(t, path)
	var out []byte
	picture := -1
	for _, unit := range bytes.Split(b, []byte{0, 0, 1})[1:] {
		kind, begins := unit[0]&31, unit[1]
		slice := kind == 1 || kind == 5
		if strings.HasSuffix(path, "hevc") {
			kind, begins = unit[0]>>1&63, unit[2]
			slice = kind < 32
		}
		if slice && begins&0x80 != 0 {
			picture++
		}
		if !slice || picture < first || picture > last {
			out = append(append(out, 0, 0, 1), unit...)
		}
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	e2e.Must(t, os.WriteFile(to, out, 0o600))
	return to
}

// Pictures that are missing where others refer to them are damage. A stream may begin with any key
// frame.
func TestMissingPictures(t *testing.T) {
	dir := t.TempDir()
	coded := func(name string, options ...string) string {
		args := append([]string{"-v", "fatal", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2", "-threads", "1"}, options...)
		livetest.Program(t, "ffmpeg", append(args, filepath.Join(dir, name))...)
		return filepath.Join(dir, name)
	}
	groups := []string{"-x264-params", "open-gop=1:keyint=10:min-keyint=10:scenecut=0:bframes=2:b-adapt=0"}
	avc := coded("in.h264", groups...)
	hevc := coded("in.hevc", "-c:v", "libx265", "-x265-params", "log-level=none:keyint=10:min-keyint=10:scenecut=0:bframes=2:b-adapt=0:open-gop=1")
	ts := coded("in.ts", append(groups, "-c:a", "mp2")...)
	b := e2e.Read(t, ts)
	const packet, tables = 188, 3 * 188
	cut := filepath.Join(dir, "cut.ts")
	e2e.Must(t, os.WriteFile(cut, append(b[:tables:tables], b[len(b)/packet/4*packet:]...), 0o600))
	mp4 := filepath.Join(dir, "late.mp4")
	livetest.Program(t, "ffmpeg", "-v", "fatal", "-nostdin", "-r", "25", "-i", without(t, hevc, 0, 0), "-c", "copy", "-copyinkf", mp4)
	for _, c := range []struct {
		name, path string
		start      time.Duration
		frames     int
		want       map[string]int64
	}{
		{"whole", avc, 0, 50, nil},
		{"whole", hevc, 0, 50, nil},
		{"whole", ts, 0, 50, nil},
		{"gradual refresh", coded("refresh.h264", "-x264-params", "intra-refresh=1:keyint=10:bframes=0"), 0, 50, nil},
		{"from an open group on", without(t, avc, 0, 9), 0, 40, nil},
		{"a picture that is referred to", without(t, avc, 4, 4), 0, 49, map[string]int64{"lost reference frames": 1}},
		{"four of them", without(t, avc, 13, 18), 0, 44, map[string]int64{"lost reference frames": 4}},
		{"the first key frame", without(t, avc, 0, 0), 0, 40, map[string]int64{"frames before the first key frame": 9}},
		{"the first key frame", without(t, hevc, 0, 0), 0, -1, map[string]int64{"frames before the first key frame": 9}},
		{"the first key frame", mp4, 0, -1, map[string]int64{"frames before the first key frame": 7}},
		{"the beginning", cut, 0, -1, map[string]int64{"frames before the first key frame": -1}},
		{"before the start", cut, time.Second, -1, nil},
	} {
		in, _ := open(t, c.path, decode.Options{Threads: 2, Start: c.start})
		n := all(t, in)
		got := in.Damage().Counts()
		for name, want := range c.want {
			if is := got[name]; is != want && (want >= 0 || is <= 0) {
				t.Errorf("%s, %s: %s: %d instead of %d", c.name, filepath.Base(c.path), name, is, want)
			}
		}
		if c.frames >= 0 && n != c.frames || len(c.want) == 0 && len(got) > 0 {
			t.Errorf("%s, %s: %d frames, %v", c.name, filepath.Base(c.path), n, got)
		}
	}
}
