package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/decode/testcamera"

	"vidfilter/internal/e2e"
)

// A webcam is shown, unplugged, busy in another program, and plugged in again.
func TestWebcam(t *testing.T) {
	t.Parallel()
	library, cameras := testcamera.Build(t), testcamera.Folder(t.TempDir())
	cameras.Plug(t, "video0", testcamera.Device{Name: "Good Camera", Modes: testcamera.Modes})
	s := serveIn(t, cameras.Environ(library), "--size", "640x480")
	if !strings.Contains(s.Err.String(), "Good Camera") {
		t.Errorf("which camera it takes is not said: %s", s.Err)
	}
	p := look(t, s.url)
	p.until("vidfilter.drawn > 10")
	st := eval[struct {
		Source, Input string
		Width, Height int
	}](p, "vidfilter.state")
	if st.Source != "camera" || st.Input != "/dev/video0" || st.Width != 640 || st.Height != 480 {
		t.Errorf("%+v", st)
	}
	p.moves("original", 0, 0, 320, 200)
	p.until("vidfilter.arrivalToScreen > 0 && vidfilter.arrivalToScreen < 1000") // ms

	cameras.Unplug(t, "video0")
	p.until("vidfilter.state.status === 'waiting' && document.body.innerText.includes('/dev/video0')")
	cameras.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes, OpenError: "EBUSY"})
	p.until("/busy|uses it|in use/i.test(vidfilter.state.message + vidfilter.state.hint)")
	id := eval[int](p, "vidfilter.id")
	cameras.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes})
	p.until("vidfilter.state.status === 'live' && vidfilter.id > %d", id+5)
}

// Without a camera the page asks for the browser's.
func TestNoWebcam(t *testing.T) {
	t.Parallel()
	library, cameras := testcamera.Build(t), testcamera.Folder(t.TempDir())
	s := serveIn(t, cameras.Environ(library))
	p := look(t, s.url)
	p.until("vidfilter.state && vidfilter.state.source === 'browser'")
	if !strings.Contains(s.Err.String(), "no camera on this machine") {
		t.Errorf("it is not said: %s", s.Err)
	}
}

// openedByProgram runs vidfilter live with a browser's camera on a fake desktop, and returns the
// address it opens.
func openedByProgram(t *testing.T) (s *serving, opened string) {
	t.Helper()
	dir := t.TempDir()
	note := filepath.Join(dir, "opened")
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" > %q.new && mv %[1]q.new %[1]q\n", note)
	e2e.Must(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755))
	env := []string{"DISPLAY=:0", "SSH_CONNECTION=", "PATH=" + dir + ":" + os.Getenv("PATH")}
	s = serveIn(t, env, "--no-open=false", "-i", "browser", "-r", "1")
	s.Until("page that is opened", func() bool { return e2e.Exists(note) })
	return s, strings.TrimSpace(string(e2e.Read(t, note)))
}

// A camera starts by itself once, on the page that the program opens. Every other start takes a
// click.
func TestCameraStartsByClick(t *testing.T) {
	t.Parallel()
	s, address := openedByProgram(t)
	own := look(t, address)
	own.until("vidfilter.camera.announced && vidfilter.drawn > 3")

	other := look(t, s.url)
	other.until("vidfilter.drawn > 3")
	second := own.tab(strings.Split(address, "#")[0])
	second.until("vidfilter.drawn > 3")

	own.run("document.getElementById('camera-stop').click()")
	for _, p := range []*page{own, other, second} {
		p.until("vidfilter.state.camera_wanted")
	}
	for name, p := range map[string]*page{"the page that stopped": own, "another browser": other, "another tab": second} {
		e2e.Stays(t, 500*time.Millisecond, "the camera of "+name+" is off", func() bool { return !eval[bool](p, "vidfilter.camera.on") })
	}
	own.navigate(strings.Split(address, "#")[0])
	own.until("vidfilter.state?.camera_wanted")
	other.run("document.getElementById('camera-start').click()")
	other.until("vidfilter.camera.announced && vidfilter.state.status === 'live'")
	if eval[bool](own, "vidfilter.camera.on") {
		t.Error("loaded again, the page that the program opened starts its camera by itself")
	}
}

// An encoder that keeps pictures back is found out, and the next one is taken. Firefox's H.264
// keeps 40.
func TestCameraLeavesSlowEncoders(t *testing.T) {
	s := serve(t, "-i", "browser", "-r", "1")
	p := look(t, s.url)
	p.until("vidfilter.state?.camera_wanted")
	p.run(`window.VideoEncoder = class extends VideoEncoder {
		constructor(init) {
			const held = [];
			super({ ...init, output: (chunk, meta) => {
				held.push([chunk, meta]);
				if (!this.slow || held.length > 40) init.output(...held.shift());
			} });
		}
		configure(config) {
			this.slow = config.codec.startsWith("avc1");
			super.configure(config);
		}
	}`)
	p.run("document.getElementById('camera-start').click()")
	p.until("vidfilter.camera.announced && vidfilter.camera.what.includes('vp8') && vidfilter.drawn > 20")
	if st := eval[string](p, "vidfilter.state.status"); st != "live" {
		t.Errorf("the source is %s", st)
	}
	// It is remembered, and not tried again.
	p.run("document.getElementById('camera-stop').click()")
	p.until("vidfilter.state.camera_wanted")
	p.run("document.getElementById('camera-start').click()")
	p.until("vidfilter.camera.announced")
	if got := eval[string](p, "vidfilter.camera.what"); !strings.Contains(got, "vp8") {
		t.Errorf("the second time it sends %s", got)
	}
}
