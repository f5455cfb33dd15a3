package decode

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"vidfilter/decode/testcamera"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
	"vidfilter/live/livetest"
	"vidfilter/pipeline"
)

const video0 = "/dev/video0"

// TestCamera runs its parts in a process that sees the test cameras.
func TestCamera(t *testing.T) {
	folder := testcamera.OnCameras(t)
	if folder == "" {
		return
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, testcamera.Folder)
	}{
		{"pictures", testPictures}, {"formats", testFormats}, {"choice", testChoice}, {"times", testTimes}, {"late", testLate},
		{"list", testList}, {"absent", testAbsent}, {"refused", testRefused}, {"taken", testTaken}, {"pulled", testPulled},
		{"silent", testSilent}, {"flicker", testFlicker}, {"damaged", testDamaged}, {"cancelled", testCancelled}, {"colour", testColour},
		{"changed", testChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder.Clear(t)
			c.test(t, folder)
		})
	}
}

func openCamera(t *testing.T, o CameraOptions) *Camera {
	t.Helper()
	c, err := OpenCamera(t.Context(), video0, livetest.Pool(t, 1), o)
	if err != nil {
		t.Fatal(err, " ", hintOf(err))
	}
	t.Cleanup(c.Close)
	return c
}

// wantPicture opens the camera anew, and takes a picture.
func wantPicture(t *testing.T) {
	t.Helper()
	c := openCamera(t, CameraOptions{})
	defer c.Close()
	next(t, c).Release()
}

// wantMode checks which mode is chosen.
func wantMode(t *testing.T, o CameraOptions, want string) {
	t.Helper()
	c := openCamera(t, o)
	defer c.Close()
	if got := c.Format().String(); got != want {
		t.Errorf("%v instead of %v", got, want)
	}
}

// wantNone checks the error of a camera that cannot be opened, as wantError does.
func wantNone(t *testing.T, path string, o CameraOptions, wraps error, words, hint string) {
	t.Helper()
	c, err := OpenCamera(t.Context(), path, livetest.Pool(t, 1), o)
	if c != nil {
		t.Fatal("it opens")
	}
	wantError(t, err, wraps, words, hint)
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Hint()
	}
	return ""
}

func next(t *testing.T, c *Camera) *pipeline.Frame {
	t.Helper()
	f, err := c.Next(t.Context())
	e2e.Must(t, err)
	return f
}

// wantError checks the words of an error and its hint, and the error that it wraps.
func wantError(t *testing.T, err error, wraps error, words, hint string) {
	t.Helper()
	if !errors.Is(err, ErrUnreadable) || wraps != nil && !errors.Is(err, wraps) {
		t.Errorf("%v does not wrap %v", err, wraps)
	}
	if err != nil && (!strings.Contains(err.Error(), words) || !strings.Contains(hintOf(err), hint)) {
		t.Errorf("%v\nhint: %s\ninstead of %q, %q", err, hintOf(err), words, hint)
	}
}

func testPictures(t *testing.T, on testcamera.Folder) {
	on.Plug(t, "video0", testcamera.Device{Name: "Some Webcam", Modes: testcamera.Modes})
	c := openCamera(t, CameraOptions{Threads: 1})
	if m := c.Format(); c.Name() != "Some Webcam" || m.String() != "mjpeg 1920x1080 at 30 fps" {
		t.Errorf("%s: %v", c.Name(), m)
	}
	var rows []string
	last := int64(0)
	for range 4 {
		f := next(t, c)
		if f.Width != 1920 || f.Height != 1080 || f.Layout != pipeline.YUV422P || !f.FullRange || f.Matrix != pipeline.BT601 {
			t.Errorf("%v, %v, full range %v", f.Format, f.Matrix, f.FullRange)
		}
		if f.PTS <= last || f.Duration != 33333 {
			t.Errorf("%d for %d after %d", f.PTS, f.Duration, last)
		}
		last = f.PTS
		rows = append(rows, string(f.Row(0, 100)))
		f.Release()
	}
	if rows[0] == rows[1] || rows[1] == rows[2] {
		t.Error("nothing moves")
	}
	c.Close()
	if f, err := c.Next(t.Context()); f != nil || err == nil {
		t.Error("a closed camera gives ", f)
	}
}

// Each format gives the same picture.
func testFormats(t *testing.T, on testcamera.Folder) {
	for _, c := range []struct {
		fourcc, name string
		layout       pipeline.Layout
		slack        int
	}{
		{"YUYV", "yuyv422", pipeline.YUV422P, 0}, {"UYVY", "uyvy422", pipeline.YUV422P, 0}, {"NV12", "nv12", pipeline.NV12, 0},
		{"YU12", "yuv420p", pipeline.YUV420P, 0}, {"GREY", "gray", pipeline.YUV420P, 0}, {"RGB3", "rgb24", pipeline.RGBA, 0},
		{"MJPG", "mjpeg", pipeline.YUV422P, 1}, {"H264", "h264", pipeline.YUV420P, 0},
	} {
		on.Plug(t, "video0", testcamera.Device{Modes: []string{c.fourcc + " 320x240 60"}})
		cam := openCamera(t, CameraOptions{Threads: 2, Format: c.fourcc})
		if cam.Format().Format != c.name {
			t.Errorf("%s is %v", c.fourcc, cam.Format())
		}
		for range 2 {
			f := next(t, cam)
			if f.Layout != c.layout || f.Width != 320 || f.Height != 240 {
				t.Errorf("%s: %v", c.fourcc, f.Format)
			}
			wantTestPicture(t, f, c.slack)
			f.Release()
		}
		if cam.Damaged != 0 {
			t.Errorf("%s: %d damaged", c.fourcc, cam.Damaged)
		}
		cam.Close()
	}
}

// wantTestPicture finds which picture of the test camera a frame is by its bar, and compares it.
func wantTestPicture(t *testing.T, f *pipeline.Frame, slack int) {
	t.Helper()
	step := 1
	if f.Layout == pipeline.RGBA {
		step = 4
	}
	bar := -1
	for x := 0; x < 256; x += 16 {
		if f.Row(0, 0)[step*(x+4)] > 220 {
			bar = x / 16
		}
	}
	if bar < 0 {
		t.Fatalf("%v: no bar in %v", f.Format, f.Row(0, 0)[:64])
	}
	for y := 0; y < f.Height; y += 5 {
		for x := range f.Width {
			want := 40 + (x/16+y/8)%100
			if x/16%16 == bar {
				want = 230
			}
			if got := int(f.Row(0, y)[step*x]); got < want-slack || got > want+slack {
				t.Fatalf("%v: %d instead of %d at %d,%d", f.Format, got, want, x, y)
			}
		}
	}
}

func testChoice(t *testing.T, on testcamera.Folder) {
	on.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes})
	wantMode(t, CameraOptions{Width: 640, Height: 480}, "yuyv422 640x480 at 30 fps")
	wantMode(t, CameraOptions{Width: 640, FPS: 15}, "yuyv422 640x480 at 15 fps")
	wantNone(t, video0, CameraOptions{Width: 800, Height: 600, FPS: 50, Format: "nv12"}, ErrOption, "does not offer nv12 800x600 at 50 fps", "yuyv422 640x480 at 30, 15 fps; yuyv422 1280x720 at 10 fps")
	// a capture card, or another program
	on.Plug(t, "video0", testcamera.Device{Modes: []string{"NV12 32x32-4096x2160 1-60"}})
	for want, o := range map[string]CameraOptions{
		"nv12 1920x1080 at 30 fps": {},
		"nv12 400x300 at 50 fps":   {Width: 400, Height: 300, FPS: 50},
		"nv12 640x480 at 12.5 fps": {Height: 480, FPS: 12.5},
		"nv12 4096x2160 at 30 fps": {Width: 4096},
		"nv12 1280x720 at 60 fps":  {FPS: 60, MaxPixels: 1 << 20},
	} {
		wantMode(t, o, want)
	}
	on.Plug(t, "video0", testcamera.Device{Modes: []string{"BA81 640x480 30"}})
	wantNone(t, video0, CameraOptions{}, ErrNoCamera, "no format that this build knows", "")
}

// Frames carry the time of capture, with any clock of the driver.
func testTimes(t *testing.T, on testcamera.Folder) {
	for _, clock := range []string{"", "wall", "none"} {
		on.Plug(t, "video0", testcamera.Device{Modes: []string{"YUYV 320x240 50"}, Clock: clock})
		c := openCamera(t, CameraOptions{})
		var ages, gaps []time.Duration
		last := time.Time{}
		for range 12 {
			f := next(t, c)
			at := time.UnixMicro(f.PTS)
			ages, gaps = append(ages, time.Since(at)), append(gaps, at.Sub(last))
			last = at
			f.Release()
		}
		c.Close()
		t.Logf("clock %q: ages %v", clock, ages)
		late := 0
		for i := range ages {
			if ages[i] < 0 {
				t.Errorf("clock %q: frame %d comes %v before it was taken", clock, i, -ages[i])
			}
			if ages[i] > 15*time.Millisecond {
				late++
			}
			if gap := gaps[i]; i > 0 && clock == "" && (gap%(20*time.Millisecond)+time.Millisecond)%(20*time.Millisecond) > 2*time.Millisecond {
				t.Errorf("frame %d comes %v after the one before", i, gap)
			}
		}
		if late > len(ages)/2 {
			t.Errorf("clock %q: frames are %v old", clock, ages)
		}
	}
}

// A late caller gets the newest picture, and the others are counted.
func testLate(t *testing.T, on testcamera.Folder) {
	for _, fourcc := range []string{"YUYV", "H264"} {
		on.Plug(t, "video0", testcamera.Device{Modes: []string{fourcc + " 320x240 50"}})
		c := openCamera(t, CameraOptions{Threads: 1})
		next(t, c).Release()
		age := time.Hour
		for range 10 { // on a busy machine the driver may be late, or the caller
			time.Sleep(110 * time.Millisecond)
			f := next(t, c)
			age = time.Since(time.UnixMicro(f.PTS))
			f.Release()
			if age <= 90*time.Millisecond {
				break
			}
		}
		if age > 90*time.Millisecond || c.Dropped < 3 {
			t.Errorf("%s: the picture is %v old, %d dropped", fourcc, age, c.Dropped)
		}
		c.Close()
	}
}

func testList(t *testing.T, on testcamera.Folder) {
	if all := Cameras(); len(all) != 0 {
		t.Errorf("%v", all)
	}
	on.Plug(t, "video0", testcamera.Device{Name: "First", Modes: testcamera.Modes})
	on.Plug(t, "video1", testcamera.Device{Name: "First", NoCapture: true})
	on.Plug(t, "video2", testcamera.Device{Name: "Second", Modes: []string{"GREY 640x360 15"}})
	on.Plug(t, "video3", testcamera.Device{Name: "Third", OpenError: "EACCES"})
	all := Cameras()
	if len(all) != 3 || all[0].Name != "First" || len(all[0].Modes) != 7 || all[1].Path != "/dev/video2" || all[2].Err == nil {
		t.Errorf("%v", all)
	}
	for path, want := range map[string]bool{video0: true, "/dev/video1": true, "/dev/video9": true, "/dev/null": false, "in.mp4": false} {
		if IsCamera(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	wantNone(t, "/dev/video1", CameraOptions{}, ErrNoCamera, "gives no pictures", "there is /dev/video0 (First), /dev/video2 (Second)")
}

func testAbsent(t *testing.T, _ testcamera.Folder) {
	wantNone(t, video0, CameraOptions{}, ErrNoCamera, "open /dev/video0: no camera: no such device", "plug one in")
	wantNone(t, "/dev/null", CameraOptions{}, ErrNoCamera, "something else", "")
}

func testRefused(t *testing.T, on testcamera.Folder) {
	for _, c := range []struct {
		device      testcamera.Device
		wraps       error
		words, hint string
	}{
		{testcamera.Device{OpenError: "EACCES"}, os.ErrPermission, "permission denied", "usermod -aG"},
		{testcamera.Device{OpenError: "EBUSY"}, ErrBusy, "another program uses it", "close that program"},
		{testcamera.Device{FormatError: "EBUSY"}, ErrBusy, "another program uses it", "close that program"},
		{testcamera.Device{StreamError: "ENOSPC"}, nil, "USB bus", "another port"},
		{testcamera.Device{StreamError: "ENODEV"}, ErrNoCamera, "pulled out", "plug it in"},
		{testcamera.Device{StreamError: "EIO"}, nil, "input/output error", ""},
	} {
		c.device.Modes = testcamera.Modes
		on.Plug(t, "video0", c.device)
		wantNone(t, video0, CameraOptions{}, c.wraps, c.words, c.hint)
		on.Change(t, "video0", testcamera.Device{Modes: testcamera.Modes})
		wantPicture(t) // the failure has no lasting effect
	}
}

func testTaken(t *testing.T, on testcamera.Folder) {
	on.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes})
	first := openCamera(t, CameraOptions{Width: 640})
	wantNone(t, video0, CameraOptions{}, ErrBusy, "another program uses it", "")
	next(t, first).Release()
	first.Close()
	wantPicture(t)
}

// A program that has a file open is found by it.
func TestUsers(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/device")
	e2e.Must(t, err)
	defer f.Close()
	if who := users(f.Name()); !strings.Contains(who, "(process ") || strings.Contains(who, ",") {
		t.Errorf("%q", who)
	}
	if who := users(f.Name() + "2"); who != "" {
		t.Errorf("%q", who)
	}
}

func testPulled(t *testing.T, on testcamera.Folder) {
	for _, mode := range []string{"YUYV 640x480 30", "H264 640x480 30"} {
		on.Plug(t, "video0", testcamera.Device{Modes: []string{mode}})
		c := openCamera(t, CameraOptions{})
		next(t, c).Release()
		on.Unplug(t, "video0")
		began := time.Now()
		_, err := c.Next(t.Context())
		wantError(t, err, ErrGone, "pulled out", "plug it in")
		if d := time.Since(began); d > time.Second {
			t.Errorf("it takes %v", d)
		}
		wantNone(t, video0, CameraOptions{}, ErrNoCamera, "", "")
		on.Plug(t, "video0", testcamera.Device{Modes: []string{mode}})
		_, err = c.Next(t.Context()) // this one does not come back
		wantError(t, err, ErrGone, "", "")
		c.Close()
		wantPicture(t)
		on.Clear(t)
	}
}

func testSilent(t *testing.T, on testcamera.Folder) {
	on.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes})
	c := openCamera(t, CameraOptions{})
	c.later = 200 * time.Millisecond
	next(t, c).Release()
	on.Change(t, "video0", testcamera.Device{Modes: testcamera.Modes, Silent: true})
	for {
		f, err := c.Next(t.Context())
		if err != nil {
			wantError(t, err, ErrGone, "no picture for 200ms", "another port")
			return
		}
		f.Release() // it was on its way
	}
}

// A loss of signal that passes is not reported; one that stays is.
func testFlicker(t *testing.T, on testcamera.Folder) {
	good := testcamera.Device{Modes: testcamera.Modes}
	bad := good
	bad.DequeueError = "EIO"
	on.Plug(t, "video0", good)
	c := openCamera(t, CameraOptions{Width: 640})
	next(t, c).Release()
	on.Change(t, "video0", bad)
	time.AfterFunc(150*time.Millisecond, func() { on.Change(t, "video0", good) })
	next(t, c).Release()
	on.Change(t, "video0", bad)
	_, err := c.Next(t.Context())
	wantError(t, err, ErrGone, "nput/output error", "another port")
}

func testDamaged(t *testing.T, on testcamera.Folder) {
	for _, mode := range []string{"YUYV 640x480 60", "MJPG 640x480 60", "H264 320x240 60"} {
		on.Plug(t, "video0", testcamera.Device{Modes: []string{mode}, Damage: 3})
		c := openCamera(t, CameraOptions{Threads: 1})
		whole := 0
		for ; whole < 100 && (whole < 6 || c.Damaged < 2); whole++ {
			f := next(t, c)
			wantTestPicture(t, f, 1)
			f.Release()
		}
		if c.Damaged < 2 {
			t.Errorf("%s: %d damaged in %d", mode, c.Damaged, whole)
		}
		c.Close()
	}
	// If all pictures are damaged, those that the decoder can patch up are used.
	on.Plug(t, "video0", testcamera.Device{Modes: []string{"MJPG 640x480 60"}, Damage: 1})
	wantPicture(t)
	on.Plug(t, "video0", testcamera.Device{Modes: []string{"YUYV 640x480 60"}, Damage: 1})
	c := openCamera(t, CameraOptions{})
	c.later = 200 * time.Millisecond
	_, err := c.Next(t.Context())
	wantError(t, err, ErrGone, "only damaged pictures", "another cable")
}

func testCancelled(t *testing.T, on testcamera.Folder) {
	on.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes, Silent: true})
	c := openCamera(t, CameraOptions{})
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var at time.Time
	time.AfterFunc(50*time.Millisecond, func() { at = time.Now(); cancel(cause) })
	f, err := c.Next(ctx)
	if f != nil || !errors.Is(err, cause) || time.Since(at) > 500*time.Millisecond {
		t.Errorf("%v, %v after %v", f, err, time.Since(at))
	}
	if _, err := OpenCamera(ctx, video0, nil, CameraOptions{}); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// Raw pictures do not carry their colour space. The driver reports it.
func testColour(t *testing.T, on testcamera.Folder) {
	for _, c := range []struct {
		colour string
		matrix pipeline.Matrix
		full   bool
	}{{"", pipeline.BT601, false}, {"709 limited", pipeline.BT709, false}, {"601 full", pipeline.BT601, true}} {
		on.Plug(t, "video0", testcamera.Device{Modes: []string{"YUYV 1280x720 30"}, Colour: c.colour})
		cam := openCamera(t, CameraOptions{})
		f := next(t, cam)
		if f.Matrix != c.matrix || f.FullRange != c.full {
			t.Errorf("%q: %v, full range %v", c.colour, f.Matrix, f.FullRange)
		}
		f.Release()
		cam.Close()
	}
}

// Drivers that do not let one choose the rate, or do not report it.
func testChanged(t *testing.T, on testcamera.Folder) {
	for _, rates := range []string{"fixed", "unknown"} {
		on.Plug(t, "video0", testcamera.Device{Modes: []string{"YUYV 640x480 15 30"}, Rates: rates})
		var notes []string
		c := openCamera(t, CameraOptions{FPS: 30, Log: terminal.LogTo(slog.LevelDebug, func(_ slog.Level, msg string) { notes = append(notes, msg) })})
		if c.Format().FPS != 15 {
			t.Errorf("%s: %v", rates, c.Format())
		}
		if warned := strings.Contains(strings.Join(notes, ""), "instead of"); !warned {
			t.Errorf("%s: %q", rates, notes)
		}
		next(t, c).Release()
		c.Close()
	}
}
