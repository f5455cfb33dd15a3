package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// damageLimit is far more than any of these clips takes: only a hang reaches it.
const damageLimit = time.Minute

// damagedClips are the clips to break: every container with a usual codec.
var damagedClips = []struct {
	name string
	args []string
	told bool // the container has the length, so a loss must be noticed
}{
	{"front.mp4", []string{"-c:v", "libx264", "-preset", "fast", "-g", "10", "-c:a", "aac", "-movflags", "+faststart"}, true},
	{"end.mp4", []string{"-c:v", "libx264", "-preset", "fast", "-g", "10", "-c:a", "aac"}, true},
	{"h264.mkv", []string{"-c:v", "libx264", "-preset", "fast", "-g", "10", "-c:a", "aac"}, true},
	{"mpeg2.ts", []string{"-c:v", "mpeg2video", "-bf", "2", "-c:a", "mp2"}, false},
	{"mpeg4.avi", []string{"-c:v", "mpeg4", "-c:a", "mp2"}, true},
}

func makeDamagedClips(t *testing.T) string {
	t.Helper()
	shortSkip(t)
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	for _, c := range damagedClips {
		e2e.Must(t, makeClip(filepath.Join(dir, c.name), "96x64", 1, c.args...))
	}
	return dir
}

// filterDamaged filters data and returns the exit code and the frames reported.
func filterDamaged(t *testing.T, dir, name string, data []byte) (code int, said map[string]any) {
	t.Helper()
	e2e.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	p := vidfilterIn(t, dir, "-i", name, "-o", "out.mkv", "--preset", "ultrafast", "-r", "1", "--progress", "json").start()
	code = p.exit(damageLimit)
	if strings.Contains(p.said(), "goroutine ") {
		t.Fatal(p.said())
	}
	said = e2e.JSONLines(t, p.said(), code)
	switch code {
	case contract.ExitDone, contract.ExitDamaged:
		wantOnly(t, dir, name, "out.mkv")
		if n := playable(t, filepath.Join(dir, "out.mkv")); n == 0 || n != said["frame"] {
			t.Errorf("%v frames can be played, %v are said to be there", n, said["frame"])
		}
		if (code == contract.ExitDamaged) != (len(said["damage"].(map[string]any)) > 0) {
			t.Errorf("exit code %d: %v", code, said)
		}
	case contract.ExitInput:
		wantOnly(t, dir, name)
	default:
		t.Errorf("exit code %d: %v", code, said)
	}
	return code, said
}

// TestTruncated cuts clips at every sixteenth of their size. All frames that the ffmpeg program
// can still decode must be in the output.
func TestTruncated(t *testing.T) {
	t.Parallel()
	clips := makeDamagedClips(t)
	for _, c := range damagedClips {
		data := e2e.Read(t, filepath.Join(clips, c.name))
		for i := range 17 {
			t.Run(fmt.Sprintf("%s/%d", c.name, i), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				part := data[:len(data)*i/16]
				code, said := filterDamaged(t, dir, c.name, part)
				hashes, _ := pictureHashes(filepath.Join(dir, c.name)) // fails without video
				frames := int(said["frame"].(float64))
				if frames != len(hashes) {
					t.Errorf("%d frames, the ffmpeg program decodes %d: %v", frames, len(hashes), said)
				}
				switch {
				case i == 16 && (code != contract.ExitDone || frames != 25):
					t.Errorf("the whole clip: exit code %d, %d frames", code, frames)
				case c.told && code == contract.ExitDone && frames < 25:
					t.Errorf("%d of 25 frames, and nothing is said: %v", frames, said)
				}
			})
		}
	}
}
