package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
)

// noDesktop hides the desktop that the tests run on.
func noDesktop(t *testing.T) {
	t.Helper()
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"} {
		t.Setenv(name, "")
	}
}

func TestWindowRefusals(t *testing.T) {
	noDesktop(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-i", "test"}, 5, "leave --window out"}, // without SDL, too
		{[]string{"-i", "browser"}, 2, "--listen"},
		{[]string{"-i", "test", "--cert", "c.pem", "--key", "k.pem"}, 2, "--cert is for the page"},
		{[]string{"-i", "test", "--max-viewers", "2"}, 2, "--max-viewers is for the page"},
	} {
		out, err, code := run(t, append(c.args, "--window")...)
		if code != c.code || !strings.Contains(err, c.says) || out != "" {
			t.Errorf("%q: exit code %d, %q; want %d and %q", c.args, code, err, c.code, c.says)
		}
	}
}

// With SDL's dummy screen: no page, a recording, and Ctrl-C ends it.
func TestWindow(t *testing.T) {
	noDesktop(t)
	e2e.Note(t)
	t.Setenv("SDL_VIDEODRIVER", "dummy")
	file := filepath.Join(t.TempDir(), "out.mp4")
	p := e2e.Begin(t, exec.Command(e2e.Program, "live", "--window", "-i", "test", "--size", "320x180", "--device", "cpu", "--record", file))
	e2e.Until(t, "a window", func() bool { return p.Ended() || strings.Contains(p.Err.String(), "the window is open") })
	if strings.Contains(p.Err.String(), "not installed") {
		t.Skip(p.Err)
	}
	p.Until("recording", func() bool { return size(filepath.Join(filepath.Dir(file), "out.recording.mp4")) > 1000 })
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.Err)
	}
	if p.Out.String() != "" || strings.Contains(p.Err.String(), "in a browser") {
		t.Errorf("there is a page as well: %q, %s", p.Out, p.Err)
	}
	if size(file) < 1000 {
		t.Errorf("nothing is recorded: %s", p.Err)
	}
}

// size returns a file's size, 0 if it does not exist.
func size(name string) int64 {
	i, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return i.Size()
}
