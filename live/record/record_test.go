package record_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

	"github.com/asticode/go-astiav"

	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
	"vidfilter/live/livetest"
	"vidfilter/live/record"
	"vidfilter/pipeline"
)

func TestMain(m *testing.M) {
	av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {})
	os.Exit(m.Run())
}

// tape is a recorder under test, with its warnings.
type tape struct {
	*record.Recorder
	tb   testing.TB
	said []string
}

func newTape(tb testing.TB, path string, o record.Options) *tape {
	tb.Helper()
	t := &tape{tb: tb}
	o.Preset, o.Threads = "superfast", 2
	o.Log = terminal.LogTo(slog.LevelDebug, func(_ slog.Level, msg string) { t.said = append(t.said, msg) })
	r, err := record.New(path, o)
	e2e.Must(tb, err)
	tb.Cleanup(r.Close)
	t.Recorder = r
	return t
}

// put records frame n of a camera.
func (t *tape) put(c *livetest.Camera, n int, at time.Duration) error {
	a, b := c.Pair(n)
	b.Release()
	return t.Put(context.Background(), a, at)
}

// recordedAt returns uneven times, which fit no constant rate.
func recordedAt(n int) time.Duration {
	return 5*time.Second + time.Duration(n)*time.Second/30 + time.Duration(n%5)*time.Millisecond
}

func (t *tape) fill(c *livetest.Camera, frames int) {
	t.tb.Helper()
	for n := range frames {
		e2e.Must(t.tb, t.put(c, n, recordedAt(n)))
	}
}

func TestRecorder(t *testing.T) {
	const frames = 75
	for _, ending := range []string{"mp4", "mov", "mkv", "MP4"} {
		t.Run(ending, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "out."+ending)
			r := newTape(t, path, record.Options{CRF: 18, Software: "a test"})
			c := livetest.NewCamera(t, livetest.YUV420(96, 64))
			r.fill(c, frames)
			if s := r.Seconds(); math.Abs(s-(recordedAt(frames-1)-recordedAt(0)).Seconds()) > 0.001 || r.Bytes() == 0 {
				t.Errorf("%g s, %d bytes", s, r.Bytes())
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("the file is there before it is whole")
			}
			e2e.Must(t, r.Finish(context.Background()))
			if err := r.Finish(context.Background()); err != nil {
				t.Error("finished twice:", err)
			}
			if err := r.put(c, 0, 0); err == nil {
				t.Error("a frame is taken after the end")
			}
			r.Close()
			r.Close()
			livetest.WantFiles(t, dir, "out."+ending)
			if len(r.said) > 0 {
				t.Errorf("said %q", r.said)
			}
			times := livetest.ShownAt(t, path)
			if len(times) != frames {
				t.Fatalf("%d frames", len(times))
			}
			for n, at := range times {
				// Matroska keeps milliseconds.
				if want := (recordedAt(n) - recordedAt(0)).Seconds(); math.Abs(at-want) > 0.0006 {
					t.Errorf("frame %d is shown at %.4f s instead of %.4f", n, at, want)
				}
			}
			if b, err := os.ReadFile(path); err == nil && strings.EqualFold(ending, "mp4") {
				if got := strings.Join(livetest.Boxes(t, b), " "); got != "ftyp free mdat moov" {
					t.Errorf("the file is %s: no ordinary MP4", got)
				}
			}
		})
	}
}

// The last picture of a recording has the usual duration at any rate.
func TestRecorderRates(t *testing.T) {
	c := livetest.NewCamera(t, livetest.YUV420(64, 64))
	for _, rate := range []float64{5, 10, 12.5, 15, 20, 24, 30} {
		for _, ending := range []string{"mp4", "mov", "mkv"} {
			path := filepath.Join(t.TempDir(), "out."+ending)
			r := newTape(t, path, record.Options{CRF: 18, FrameRate: rate})
			const frames = 14
			for n := range frames {
				e2e.Must(t, r.put(c, n, time.Duration(float64(n)/rate*float64(time.Second))))
			}
			if err := r.Finish(context.Background()); err != nil {
				t.Errorf("%g frames a second, %s: %v", rate, ending, err)
				continue
			}
			length, err := strconv.ParseFloat(strings.TrimSpace(string(livetest.Program(t, "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path))), 64)
			if want := frames / rate; err != nil || math.Abs(length-want) > 0.0015 {
				t.Errorf("%g frames a second, %s: it lasts %g s instead of %g, %v", rate, ending, length, want, err)
			}
		}
	}
}

// The same holds at uneven times, for any picture order in the file.
func TestRecorderUnevenTimes(t *testing.T) {
	c := livetest.NewCamera(t, livetest.YUV420(64, 64))
	for tail := range 5 {
		path := filepath.Join(t.TempDir(), "out.mp4")
		r := newTape(t, path, record.Options{CRF: 18})
		at := time.Duration(0)
		for n := range 20 + tail {
			e2e.Must(t, r.put(c, n, at))
			at += []time.Duration{40, 200, 80, 120, 400}[n%5] * time.Millisecond
		}
		if err := r.Finish(context.Background()); err != nil {
			t.Errorf("%d pictures: %v", 20+tail, err)
			continue
		}
		times := livetest.ShownAt(t, path)
		length, err := strconv.ParseFloat(strings.TrimSpace(string(livetest.Program(t, "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=duration", "-of", "csv=p=0", path))), 64)
		if want := 2*times[len(times)-1] - times[len(times)-2]; err != nil || math.Abs(length-want) > 0.0015 {
			t.Errorf("%d pictures: it lasts %g s instead of %g, %v", 20+tail, length, want, err)
		}
	}
}

// Frames of another size, layout or matrix are converted to the first one's.
func TestRecorderChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.mp4")
	r := newTape(t, path, record.Options{CRF: 18})
	n := 0
	for _, f := range []pipeline.Format{
		livetest.YUV420(96, 64), {Layout: pipeline.RGBA, Width: 50, Height: 31}, {Layout: pipeline.NV12, Width: 96, Height: 64, Matrix: pipeline.BT601, FullRange: true}, livetest.YUV420(96, 64),
		livetest.YUV420(192, 64),
	} {
		c := livetest.NewCamera(t, f)
		for range 5 {
			e2e.Must(t, r.put(c, n, 0))
			n++
		}
	}
	e2e.Must(t, r.Finish(context.Background()))
	all := livetest.Program(t, "ffmpeg", "-v", "error", "-i", path, "-fps_mode", "passthrough", "-f", "rawvideo", "-")
	const size = 96 * 64 * 3 / 2
	if want := size * n; len(all) != want {
		t.Fatalf("%d bytes of pictures instead of %d", len(all), want)
	}
	if last := all[size*(n-1):]; last[96*4+48] > 24 || last[96*60+48] > 24 || last[96*32+48] < 60 {
		t.Errorf("a wide picture has no bars: %d, %d and %d down the middle", last[96*4+48], last[96*32+48], last[96*60+48])
	}
}

func TestRecorderLayouts(t *testing.T) {
	for _, f := range []pipeline.Format{
		{Layout: pipeline.RGBA, Width: 64, Height: 64}, {Layout: pipeline.NV12, Width: 64, Height: 64, Matrix: pipeline.BT601},
		{Layout: pipeline.YUV422P, Width: 64, Height: 63, Matrix: pipeline.BT601}, {Layout: pipeline.RGBA, Width: 63, Height: 63}, livetest.YUV420(1, 1),
	} {
		path := filepath.Join(t.TempDir(), "out.mp4")
		r := newTape(t, path, record.Options{CRF: 18})
		r.fill(livetest.NewCamera(t, f), 3)
		if err := r.Finish(context.Background()); err != nil {
			t.Errorf("%v: %v", f, err)
			continue
		}
		if n := len(livetest.ShownAt(t, path)); n != 3 {
			t.Errorf("%v: %d frames", f, n)
		}
	}
}

func TestRecorderRefusals(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.mp4")
	e2e.Must(t, os.WriteFile(old, []byte("old"), 0o600))
	for _, path := range []string{old, filepath.Join(dir, "out.avi"), filepath.Join(dir, "out"), "-", filepath.Join(dir, "no", "out.mp4")} {
		if _, err := record.New(path, record.Options{CRF: 18}); !errors.Is(err, target.ErrOutput) {
			t.Errorf("%s: %v", path, err)
		}
	}
	livetest.WantFiles(t, dir, "old.mp4")
	r := newTape(t, old, record.Options{CRF: 18, Policy: target.Replace})
	if err := r.Finish(context.Background()); !errors.Is(err, target.ErrOutput) {
		t.Errorf("without a frame: %v", err)
	}
	r.Close()
	if err := r.Finish(context.Background()); err == nil {
		t.Error("finished after Close")
	}
	livetest.WantFiles(t, dir, "old.mp4")
	r = newTape(t, old, record.Options{CRF: 18, Policy: target.Replace})
	r.fill(livetest.NewCamera(t, livetest.YUV420(64, 64)), 2)
	if err := r.Finish(context.Background()); err != nil {
		t.Error(err)
	}
	livetest.WantFiles(t, dir, "old.mp4")
	if n := len(livetest.ShownAt(t, old)); n != 2 {
		t.Errorf("%d frames", n)
	}
}

// A file that appears while recording is not replaced, and the recording keeps all frames.
func TestRecorderTargetAppears(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.mkv")
	r := newTape(t, path, record.Options{CRF: 18})
	r.fill(livetest.NewCamera(t, livetest.YUV420(64, 64)), 9)
	e2e.Must(t, os.WriteFile(path, []byte("another"), 0o600))
	err := r.Finish(context.Background())
	if !errors.Is(err, target.ErrOutput) || !strings.Contains(err.Error(), "out.mkv\" has appeared meanwhile") || !strings.Contains(err.Error(), "out.recording.mp4\", which plays") {
		t.Errorf("%v", err)
	}
	r.Close()
	livetest.WantFiles(t, dir, "out.mkv", "out.recording.mp4")
	if b, _ := os.ReadFile(path); string(b) != "another" {
		t.Errorf("it holds %q", b)
	}
	if n := len(livetest.ShownAt(t, filepath.Join(dir, "out.recording.mp4"))); n != 9 {
		t.Errorf("%d frames", n)
	}
}

func TestRecorderCancelled(t *testing.T) {
	dir := t.TempDir()
	r := newTape(t, filepath.Join(dir, "out.mp4"), record.Options{CRF: 18})
	r.fill(livetest.NewCamera(t, livetest.YUV420(64, 64)), 9)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Finish(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "which plays") {
		t.Errorf("%v", err)
	}
	livetest.WantFiles(t, dir, "out.recording.mp4")
}

// Close without Finish keeps the recording, and the next one leaves it alone.
func TestRecorderLeftovers(t *testing.T) {
	dir := t.TempDir()
	path, left := filepath.Join(dir, "out.mp4"), filepath.Join(dir, "out.recording.mp4")
	c := livetest.NewCamera(t, livetest.YUV420(64, 64))
	r := newTape(t, path, record.Options{CRF: 18})
	r.fill(c, 9)
	running := newTape(t, path, record.Options{CRF: 18})
	if len(running.said) != 1 || !strings.Contains(running.said[0], "out.recording.mp4\" is being recorded") {
		t.Errorf("said %q", running.said)
	}
	running.Close()
	r.Close()
	livetest.WantFiles(t, dir, "out.recording.mp4")
	if n := len(livetest.ShownAt(t, left)); n != 9 {
		t.Errorf("%d frames", n)
	}
	before, err := os.ReadFile(left)
	e2e.Must(t, err)
	r = newTape(t, path, record.Options{CRF: 18})
	r.fill(c, 4)
	if filepath.Base(r.Path()) != "out.recording-2.mp4" || len(r.said) != 1 || !strings.Contains(r.said[0], "out.recording.mp4\" is left") {
		t.Errorf("records to %s, said %q", r.Path(), r.said)
	}
	e2e.Must(t, r.Finish(context.Background()))
	livetest.WantFiles(t, dir, "out.mp4", "out.recording.mp4")
	if after, _ := os.ReadFile(left); !slices.Equal(before, after) {
		t.Error("what was left is another file")
	}
}

const recordTo = "RECORD_TEST_RECORD_TO"

// TestRecordingProcess is the child process of TestRecorderKilled and TestRecorderFileLimit: it
// records until it is stopped or fails, and prints its progress.
func TestRecordingProcess(t *testing.T) {
	path := os.Getenv(recordTo)
	if path == "" {
		t.Skip("only as a process of other tests")
	}
	signal.Ignore(syscall.SIGXFSZ)
	r := newTape(t, path, record.Options{CRF: 18})
	c := livetest.NewCamera(t, livetest.YUV420(320, 180))
	for n := 0; ; n++ {
		if err := r.put(c, n, recordedAt(n)); err != nil {
			fmt.Printf("failed at %d: %v\n", n, err)
			if again := r.put(c, n, recordedAt(n)); again != err || !errors.Is(err, target.ErrOutput) || r.Finish(context.Background()) != err {
				t.Errorf("%v, then %v", err, again)
			}
			r.Close()
			return
		}
		if n == 200 {
			fmt.Printf("at %d\n", n)
		}
		if n >= 200 && os.Getenv("RECORD_TEST_PAUSE") != "" {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func recording(t *testing.T, path string, env ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRecordingProcess$")
	cmd.Env = append(append(os.Environ(), recordTo+"="+path), env...)
	out, err := cmd.StdoutPipe()
	e2e.Must(t, err)
	e2e.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// After a kill, the recording plays up to the last second, in every format.
func TestRecorderKilled(t *testing.T) {
	for _, ending := range []string{"mp4", "mov", "mkv"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out."+ending)
		cmd, out := recording(t, path, "RECORD_TEST_PAUSE=1")
		var n int
		if _, err := fmt.Fscanf(out, "at %d\n", &n); err != nil {
			t.Fatal(err)
		}
		e2e.Must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if _, err := os.Stat(path); err == nil {
			t.Error("half a result under the final name")
		}
		times := livetest.ShownAt(t, filepath.Join(dir, "out.recording.mp4"))
		if len(times) < n-30 {
			t.Errorf("%d frames of %d can be shown", len(times), n+1)
		}
		// The next recording removes all but the recording file.
		r := newTape(t, path, record.Options{CRF: 18})
		r.fill(livetest.NewCamera(t, livetest.YUV420(64, 64)), 2)
		e2e.Must(t, r.Finish(context.Background()))
		livetest.WantFiles(t, dir, "out."+ending, "out.recording.mp4")
	}
}

// A recording that reaches the file size limit ends and can be played.
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
	livetest.WantFiles(t, dir, "out.recording.mp4")
	at, _, _ := strings.Cut(strings.TrimPrefix(string(out), "failed at "), ":")
	n, err := strconv.Atoi(at)
	e2e.Must(t, err)
	if times := livetest.ShownAt(t, filepath.Join(dir, "out.recording.mp4")); len(times) < n-60 || len(times) == 0 {
		t.Errorf("%d frames of %d can be shown", len(times), n)
	}
}

// The disk has room for the recording but not for the file: the recording keeps all frames, and the
// error names it.
func TestRecorderDiskFullAtEnd(t *testing.T) {
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("this user may not mount a small disk: %v", err)
	}
	e2e.Must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	r := newTape(t, filepath.Join(dir, "out.mp4"), record.Options{CRF: 18})
	c := livetest.NewCamera(t, livetest.YUV420(320, 180))
	n := 0
	for ; r.Bytes() < 1_200_000; n++ {
		e2e.Must(t, r.put(c, n, recordedAt(n)))
	}
	err = r.Finish(context.Background())
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, target.ErrOutput) || !strings.Contains(err.Error(), `out.mp4": disk full`) ||
		!strings.Contains(err.Error(), `out.recording.mp4", which plays`) {
		t.Errorf("%v", err)
	}
	r.Close()
	livetest.WantFiles(t, dir, "out.recording.mp4")
	if got := len(livetest.ShownAt(t, filepath.Join(dir, "out.recording.mp4"))); got != n {
		t.Errorf("%d frames of %d", got, n)
	}
}
