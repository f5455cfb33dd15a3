package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestRecordFile: a recording of a file has all its pictures at their times, however slow the
// filter; with --loop each round follows the one before.
func TestRecordFile(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no ffmpeg to make a clip")
	}
	dir := t.TempDir()
	uneven := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=1", "-vf", `select='lt(n,9)+not(mod(n,4))'`,
		"-fps_mode", "vfr", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", filepath.Join(dir, "in.mp4")}
	if out, err := exec.Command("ffmpeg", uneven...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := pictureTimes(t, filepath.Join(dir, "in.mp4"))
	if len(want) < 12 {
		t.Fatalf("the clip has %d pictures", len(want))
	}
	for _, ending := range []string{"mp4", "mkv"} {
		out := "out." + ending
		p := vidfilterIn(t, dir, "live", "--no-open", "--listen", "127.0.0.1:0", "-i", "in.mp4", "--record", out, "-r", "12", "--threads", "1").start()
		p.await("recorded " + out)
		p.signal(syscall.SIGINT)
		p.wantExit(0)
		if got := pictureTimes(t, filepath.Join(dir, out)); !slices.EqualFunc(got, want, closeTo) {
			t.Errorf("%s has pictures at %v instead of %v", out, got, want)
		}
		if s := p.stderr.String(); strings.Contains(s, "left out") {
			t.Error(s)
		}
	}
	p := vidfilterIn(t, dir, "live", "--no-open", "--listen", "127.0.0.1:0", "-i", "in.mp4", "--loop", "--record", "loop.mp4", "--device", "cpu").start()
	p.awaitTimes("in.mp4: ", 3)
	p.signal(syscall.SIGINT)
	p.wantExit(0)
	got := pictureTimes(t, filepath.Join(dir, "loop.mp4"))
	round := wantFloat(t, ffprobe(t, "-select_streams", "v", "-show_entries", "stream=duration", filepath.Join(dir, "in.mp4")))
	for i, at := range got {
		if w := want[i%len(want)] + float64(i/len(want))*round; i/len(want) < 2 && !closeTo(at, w) {
			t.Errorf("picture %d of the loop is at %v instead of %v", i, at, w)
		}
	}
	if len(got) < 2*len(want) {
		t.Errorf("%d pictures in more than two rounds of %d", len(got), len(want))
	}
}

// closeTo allows for rounding in Matroska.
func closeTo(a, b float64) bool { return a-b < 0.0011 && b-a < 0.0011 }

// pictureTimes returns when the pictures of a file are shown, from the first one.
func pictureTimes(t *testing.T, file string) (times []float64) {
	t.Helper()
	for _, s := range strings.Fields(ffprobe(t, "-select_streams", "v", "-show_entries", "packet=pts_time", file)) {
		times = append(times, wantFloat(t, s))
	}
	slices.Sort(times)
	for i := range times {
		times[len(times)-1-i] -= times[0]
	}
	return times
}
