package livetest

import (
	"bytes"
	"strings"
	"testing"

	"vidfilter/decode/testcamera"
)

// A webcam of this machine: seen, pulled out, put back, and taken by somebody else.
func TestWebcam(t *testing.T) {
	library, cameras := testcamera.Build(t), testcamera.Folder(t.TempDir())
	cameras.Plug(t, "video0", testcamera.Device{Name: "Good Camera", Modes: testcamera.Modes})
	s := serveIn(t, cameras.Environ(library), "--size", "640x480")
	if !strings.Contains(s.stderr.String(), "Good Camera") {
		t.Errorf("which camera it takes is not said: %s", s.stderr)
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
	before := p.pixels("original", 0, 0, 320, 200)
	id := eval[int](p, "vidfilter.id")
	p.until("vidfilter.id > %d", id+5)
	if bytes.Equal(before, p.pixels("original", 0, 0, 320, 200)) {
		t.Error("the picture stands still")
	}
	p.until("vidfilter.latency > 0 && vidfilter.latency < 1000") // ms from the camera to the screen

	cameras.Unplug(t, "video0")
	p.until("vidfilter.state.status === 'waiting' && document.body.innerText.includes('/dev/video0')")
	cameras.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes, OpenError: "EBUSY"})
	p.until("/busy|uses it|in use/i.test(vidfilter.state.message + vidfilter.state.hint)")
	id = eval[int](p, "vidfilter.id")
	cameras.Plug(t, "video0", testcamera.Device{Modes: testcamera.Modes})
	p.until("vidfilter.state.status === 'live' && vidfilter.id > %d", id+5)
}

// Without a camera the page asks for the browser's.
func TestNoWebcam(t *testing.T) {
	library, cameras := testcamera.Build(t), testcamera.Folder(t.TempDir())
	s := serveIn(t, cameras.Environ(library))
	p := look(t, s.url)
	p.until("vidfilter.state && vidfilter.state.source === 'browser'")
	if !strings.Contains(s.stderr.String(), "no camera on this machine") {
		t.Errorf("it is not said: %s", s.stderr)
	}
}
