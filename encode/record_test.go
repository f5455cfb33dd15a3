package encode_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/encode"
	"vidfilter/pipeline"
)

// tape is a recorder under test, with what it has said.
type tape struct {
	*encode.Recorder
	tb   testing.TB
	said []string
}

func newTape(tb testing.TB, path string, o encode.RecordOptions) *tape {
	tb.Helper()
	t := &tape{tb: tb}
	o.Preset, o.Threads = "superfast", 2
	o.Warn = func(format string, args ...any) { t.said = append(t.said, fmt.Sprintf(format, args...)) }
	r, err := encode.NewRecorder(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	t.Recorder = r
	return t
}

// put records frame n of a camera.
func (t *tape) put(c *camera, n int, at time.Duration) error {
	a, b := c.pair(n)
	b.Release()
	return t.Put(context.Background(), a, at)
}

// recordedAt is a time that no even rate gives.
func recordedAt(n int) time.Duration {
	return 5*time.Second + time.Duration(n)*time.Second/30 + time.Duration(n%5)*time.Millisecond
}

func (t *tape) fill(c *camera, frames int) {
	t.tb.Helper()
	for n := range frames {
		if err := t.put(c, n, recordedAt(n)); err != nil {
			t.tb.Fatal(err)
		}
	}
}

func wantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("there are %q, want %q", got, names)
	}
}

func TestRecorder(t *testing.T) {
	const frames = 75
	for _, ending := range []string{"mp4", "mov", "mkv", "MP4"} {
		t.Run(ending, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "out."+ending)
			r := newTape(t, path, encode.RecordOptions{CRF: 18, Software: "a test"})
			c := newCamera(t, yuv420(96, 64))
			r.fill(c, frames)
			if s := r.Seconds(); math.Abs(s-(recordedAt(frames-1)-recordedAt(0)).Seconds()) > 0.001 || r.Bytes() == 0 {
				t.Errorf("%g s, %d bytes", s, r.Bytes())
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("the file is there before it is whole")
			}
			if err := r.Finish(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := r.Finish(context.Background()); err != nil {
				t.Error("finished twice:", err)
			}
			if err := r.put(c, 0, 0); err == nil {
				t.Error("a frame is taken after the end")
			}
			r.Close()
			r.Close()
			wantFiles(t, dir, "out."+ending)
			if len(r.said) > 0 {
				t.Errorf("said %q", r.said)
			}
			times := shownAt(t, path)
			if len(times) != frames {
				t.Fatalf("%d frames", len(times))
			}
			for n, at := range times {
				if want := (recordedAt(n) - recordedAt(0)).Seconds(); math.Abs(at-want) > 0.0006 { // Matroska keeps milliseconds
					t.Errorf("frame %d is shown at %.4f s instead of %.4f", n, at, want)
				}
			}
			if b, err := os.ReadFile(path); err == nil && strings.EqualFold(ending, "mp4") {
				if got := strings.Join(boxes(t, b), " "); got != "ftyp free mdat moov" {
					t.Errorf("the file is %s: no ordinary MP4", got)
				}
			}
		})
	}
}

// Frames of another size, layout or matrix are made like the first.
func TestRecorderChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.mp4")
	r := newTape(t, path, encode.RecordOptions{CRF: 18})
	n := 0
	for _, f := range []pipeline.Format{
		yuv420(96, 64), {Layout: pipeline.RGBA, Width: 50, Height: 31}, {Layout: pipeline.NV12, Width: 96, Height: 64, Matrix: pipeline.BT601, FullRange: true}, yuv420(96, 64),
	} {
		c := newCamera(t, f)
		for range 5 {
			if err := r.put(c, n, 0); err != nil { // times that stand still
				t.Fatal(err)
			}
			n++
		}
	}
	if err := r.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	size := len(program(t, "ffmpeg", "-v", "error", "-i", path, "-fps_mode", "passthrough", "-f", "rawvideo", "-"))
	if want := 96 * 64 * 3 / 2 * n; size != want {
		t.Errorf("%d bytes of pictures instead of %d", size, want)
	}
}

func TestRecorderLayouts(t *testing.T) {
	for _, f := range []pipeline.Format{
		{Layout: pipeline.RGBA, Width: 64, Height: 64}, {Layout: pipeline.NV12, Width: 64, Height: 64, Matrix: pipeline.BT601},
		{Layout: pipeline.YUV422P, Width: 64, Height: 63, Matrix: pipeline.BT601}, {Layout: pipeline.RGBA, Width: 63, Height: 63}, yuv420(1, 1),
	} {
		path := filepath.Join(t.TempDir(), "out.mp4")
		r := newTape(t, path, encode.RecordOptions{CRF: 18})
		r.fill(newCamera(t, f), 3)
		if err := r.Finish(context.Background()); err != nil {
			t.Errorf("%v: %v", f, err)
			continue
		}
		if n := len(shownAt(t, path)); n != 3 {
			t.Errorf("%v: %d frames", f, n)
		}
	}
}

func TestRecorderRefusals(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.mp4")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, filepath.Join(dir, "out.avi"), filepath.Join(dir, "out"), "-", filepath.Join(dir, "no", "out.mp4")} {
		if _, err := encode.NewRecorder(path, encode.RecordOptions{CRF: 18}); !errors.Is(err, encode.ErrOutput) {
			t.Errorf("%s: %v", path, err)
		}
	}
	wantFiles(t, dir, "old.mp4")
	r := newTape(t, old, encode.RecordOptions{CRF: 18, Policy: encode.Replace})
	if err := r.Finish(context.Background()); !errors.Is(err, encode.ErrOutput) {
		t.Errorf("without a frame: %v", err)
	}
	r.Close()
	if err := r.Finish(context.Background()); err == nil {
		t.Error("finished after Close")
	}
	wantFiles(t, dir, "old.mp4")
	r = newTape(t, old, encode.RecordOptions{CRF: 18, Policy: encode.Replace})
	r.fill(newCamera(t, yuv420(64, 64)), 2)
	if err := r.Finish(context.Background()); err != nil {
		t.Error(err)
	}
	wantFiles(t, dir, "old.mp4")
	if n := len(shownAt(t, old)); n != 2 {
		t.Errorf("%d frames", n)
	}
}

// A file that appears while recording is not replaced, and nothing is lost.
func TestRecorderTargetAppears(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.mkv")
	r := newTape(t, path, encode.RecordOptions{CRF: 18})
	r.fill(newCamera(t, yuv420(64, 64)), 9)
	if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := r.Finish(context.Background())
	if !errors.Is(err, encode.ErrOutput) || !strings.Contains(err.Error(), "out.mkv\" exists") || !strings.Contains(err.Error(), "out.recording.mp4\", which plays") {
		t.Errorf("%v", err)
	}
	r.Close()
	wantFiles(t, dir, "out.mkv", "out.recording.mp4")
	if b, _ := os.ReadFile(path); string(b) != "another" {
		t.Errorf("it holds %q", b)
	}
	if n := len(shownAt(t, filepath.Join(dir, "out.recording.mp4"))); n != 9 {
		t.Errorf("%d frames", n)
	}
}

func TestRecorderCancelled(t *testing.T) {
	dir := t.TempDir()
	r := newTape(t, filepath.Join(dir, "out.mp4"), encode.RecordOptions{CRF: 18})
	r.fill(newCamera(t, yuv420(64, 64)), 9)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Finish(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "which plays") {
		t.Errorf("%v", err)
	}
	wantFiles(t, dir, "out.recording.mp4")
}

// Close without Finish keeps what there is, all of it, and the next recording leaves it alone.
func TestRecorderLeftovers(t *testing.T) {
	dir := t.TempDir()
	path, left := filepath.Join(dir, "out.mp4"), filepath.Join(dir, "out.recording.mp4")
	c := newCamera(t, yuv420(64, 64))
	r := newTape(t, path, encode.RecordOptions{CRF: 18})
	r.fill(c, 9)
	running := newTape(t, path, encode.RecordOptions{CRF: 18})
	if len(running.said) != 1 || !strings.Contains(running.said[0], "out.recording.mp4\" is being recorded") {
		t.Errorf("said %q", running.said)
	}
	running.Close()
	r.Close()
	wantFiles(t, dir, "out.recording.mp4")
	if n := len(shownAt(t, left)); n != 9 {
		t.Errorf("%d frames", n)
	}
	before, err := os.ReadFile(left)
	if err != nil {
		t.Fatal(err)
	}
	r = newTape(t, path, encode.RecordOptions{CRF: 18})
	r.fill(c, 4)
	if filepath.Base(r.Path()) != "out.recording-2.mp4" || len(r.said) != 1 || !strings.Contains(r.said[0], "out.recording.mp4\" is left") {
		t.Errorf("records to %s, said %q", r.Path(), r.said)
	}
	if err := r.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "out.mp4", "out.recording.mp4")
	if after, _ := os.ReadFile(left); !slices.Equal(before, after) {
		t.Error("what was left is another file")
	}
}

const recordTo = "ENCODE_TEST_RECORD_TO"

// TestRecordingProcess is no test but a process of TestRecorderKilled and TestRecorderFileLimit: it records until it
// is stopped or fails, and says how far it is.
func TestRecordingProcess(t *testing.T) {
	path := os.Getenv(recordTo)
	if path == "" {
		t.Skip("only as a process of other tests")
	}
	signal.Ignore(syscall.SIGXFSZ)
	r := newTape(t, path, encode.RecordOptions{CRF: 18})
	c := newCamera(t, yuv420(320, 180))
	for n := 0; ; n++ {
		if err := r.put(c, n, recordedAt(n)); err != nil {
			fmt.Printf("failed at %d: %v\n", n, err)
			if again := r.put(c, n, recordedAt(n)); again != err || !errors.Is(err, encode.ErrOutput) || r.Finish(context.Background()) != err {
				t.Errorf("%v, then %v", err, again)
			}
			r.Close()
			return
		}
		if n == 200 {
			fmt.Printf("at %d\n", n)
		}
		if n >= 200 && os.Getenv("ENCODE_TEST_PAUSE") != "" {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func recording(t *testing.T, path string, env ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRecordingProcess$")
	cmd.Env = append(append(os.Environ(), recordTo+"="+path), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// What was recorded up to a second and a half before the program is killed plays, whatever is to become of it.
func TestRecorderKilled(t *testing.T) {
	for _, ending := range []string{"mp4", "mov", "mkv"} {
		if testing.Short() && ending != "mp4" {
			continue
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "out."+ending)
		cmd, out := recording(t, path, "ENCODE_TEST_PAUSE=1")
		var n int
		if _, err := fmt.Fscanf(out, "at %d\n", &n); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if _, err := os.Stat(path); err == nil {
			t.Error("half a result under the final name")
		}
		times := shownAt(t, filepath.Join(dir, "out.recording.mp4"))
		if len(times) < n-45 {
			t.Errorf("%d frames of %d can be shown", len(times), n+1)
		}
		// The next recording clears away all but the recording file.
		r := newTape(t, path, encode.RecordOptions{CRF: 18})
		r.fill(newCamera(t, yuv420(64, 64)), 2)
		if err := r.Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		wantFiles(t, dir, "out."+ending, "out.recording.mp4")
	}
}

// A file that cannot grow any more ends the recording; what is in it plays.
func TestRecorderFileLimit(t *testing.T) {
	dir := t.TempDir()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to set a limit")
	}
	cmd := exec.Command(shell, "-c", `ulimit -f 2000; exec "$0" -test.run=^TestRecordingProcess$`, os.Args[0])
	cmd.Env = append(os.Environ(), recordTo+"="+filepath.Join(dir, "out.mp4"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "file too large") || !strings.Contains(string(out), "out.recording.mp4\", which plays") {
		t.Fatalf("%v: %s", err, out)
	}
	wantFiles(t, dir, "out.recording.mp4")
	at, _, _ := strings.Cut(strings.TrimPrefix(string(out), "failed at "), ":")
	n, err := strconv.Atoi(at)
	if err != nil {
		t.Fatal(err)
	}
	if times := shownAt(t, filepath.Join(dir, "out.recording.mp4")); len(times) < n-60 || len(times) == 0 {
		t.Errorf("%d frames of %d can be shown", len(times), n)
	}
}

// The disk has room for the recording and not for the file: nothing is lost, and the error says where it is.
func TestRecorderDiskFullAtEnd(t *testing.T) {
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("this user may not mount a small disk: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	r := newTape(t, filepath.Join(dir, "out.mp4"), encode.RecordOptions{CRF: 18})
	c := newCamera(t, yuv420(320, 180))
	n := 0
	for ; r.Bytes() < 1_200_000; n++ {
		if err := r.put(c, n, recordedAt(n)); err != nil {
			t.Fatal(err)
		}
	}
	err = r.Finish(context.Background())
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, encode.ErrOutput) || !strings.Contains(err.Error(), `out.mp4": disk full`) ||
		!strings.Contains(err.Error(), `out.recording.mp4", which plays`) {
		t.Errorf("%v", err)
	}
	r.Close()
	wantFiles(t, dir, "out.recording.mp4")
	if got := len(shownAt(t, filepath.Join(dir, "out.recording.mp4"))); got != n {
		t.Errorf("%d frames of %d", got, n)
	}
}
