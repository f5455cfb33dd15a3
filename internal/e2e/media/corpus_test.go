package media

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// corpus holds small files that were once read wrongly, and the samples. Each is made mkv and mp4:
// every picture arrives, sound and pictures keep their lengths in seconds, and the exit code is
// right.
var corpus = []struct {
	name           string
	pictures       int
	seconds, sound float64
	programs, code int
}{
	{"creation-time.mkv", 10, 0.4, 0, 1, 0},
	{"edit-list-trimmed-start.mp4", 32, 1.3, 1.3, 1, 0},
	{"edit-list-two-parts.mp4", 26, 1.04, 1, 1, 0},
	{"hybrid-interlaced-first.m2v", 40, 1.6, 0, 1, 0},
	{"hybrid-progressive-first.m2v", 40, 1.6, 0, 1, 0},
	{"join-overlapping-sound.ts", 50, 2.07, 2.18, 1, 0},
	{"location.mov", 10, 0.4, 0, 1, 0},
	{"noisy-10bit-12-pictures.mp4", 12, 0.48, 0, 1, 0},
	{"odd-size.webm", 10, 0.4, 0, 1, 0},
	{"one-picture-10bit.mkv", 1, 0.04, 0, 1, 0},
	{"pcm-bluray.m2ts", 10, 0.4, 0.4, 1, 0},
	{"pixel-crop.mkv", 10, 0.4, 0, 1, 0},
	{"pmt-moves-pids.ts", 50, 2, 2, 1, 0},
	{"sar-changes.ts", 19, 0.74, 0, 1, 6},
	{"two-programs-two-clocks.ts", 25, 1, 1, 2, 0},
	{"vp8-bt709.webm", 10, 0.4, 0, 1, 0},
	{"wma.mkv", 10, 0.4, 0.4, 1, 0},
	{"clean.mp4", 72, 3, 3, 1, 0},
	{"noisy.mp4", 72, 3, 3, 1, 0},
}

func TestCorpus(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range corpus {
		listed[c.name] = true
		path := filepath.Join("testdata", "corpus", c.name)
		if !e2e.Exists(path) {
			path = filepath.Join("..", "..", "..", "samples", c.name)
		}
		for _, ending := range []string{"mkv", "mp4"} {
			t.Run(c.name+"-to-"+ending, func(t *testing.T) {
				e2e.Start(t, false)
				dir := t.TempDir()
				out := filepath.Join(dir, "out."+ending)
				cmd := exec.Command(e2e.Program, "-i", path, "-o", out, "--progress", "none", "--quality", "fast", "--preset", "ultrafast")
				began := time.Now()
				said, _ := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code != c.code {
					t.Errorf("exit code %d, not %d", code, c.code)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("took %v", took)
				}
				if left, _ := os.ReadDir(dir); len(left) != 1 {
					t.Errorf("the folder holds %v", left)
				}
				if !e2e.Exists(out) {
					t.Fatalf("no output: %s", said)
				}
				m := probe(t, out)
				pictures, sound := m.kind("video"), m.kind("audio")
				if tracks := min(1, math.Ceil(c.sound)) * float64(c.programs); len(pictures) != c.programs || len(sound) != int(tracks) {
					t.Errorf("%d tracks of pictures, %d of sound", len(pictures), len(sound))
				}
				for _, s := range pictures {
					if n := len(m.of(s)); n != c.pictures {
						t.Errorf("%d pictures, not %d", n, c.pictures)
					}
					near(t, "pictures", m.seconds(t, s), c.seconds)
				}
				for _, s := range sound {
					near(t, "sound", m.seconds(t, s), c.sound)
				}
				if t.Failed() {
					t.Logf("%s", said)
				}
			})
		}
	}
	files, err := os.ReadDir(filepath.Join("testdata", "corpus"))
	e2e.Must(t, err)
	for _, f := range files {
		if !listed[f.Name()] {
			t.Errorf("%s is not in the table", f.Name())
		}
	}
}

// near compares lengths in seconds: two frames of AAC may differ.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.05 {
		t.Errorf("%s last %.3f s, not %.3f", what, got, want)
	}
}

// seconds is the time from the start of the first packet of s to the end of the last.
func (m *media) seconds(t *testing.T, s stream) float64 {
	t.Helper()
	begin, end := math.Inf(1), math.Inf(-1)
	for _, p := range m.of(s) {
		if !strings.Contains(p.Flags, "D") {
			begin = min(begin, p.seconds(t, s))
			end = max(end, p.seconds(t, s)+float64(p.Duration)*ratio(s.TimeBase))
		}
	}
	return end - begin
}
