package livetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/built"
)

// noDesktop hides the desktop of who runs the tests.
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

// A window on a screen that does not exist: no page and no address, a recording as ever, and Ctrl-C ends it.
func TestWindow(t *testing.T) {
	noDesktop(t)
	built.Note(t)
	t.Setenv("SDL_VIDEODRIVER", "dummy")
	file := filepath.Join(t.TempDir(), "out.mp4")
	c := exec.Command(program, "live", "--window", "-i", "test", "--size", "320x180", "--device", "cpu", "--record", file)
	var stdout bytes.Buffer
	stderr := &tail{}
	c.Stdout, c.Stderr = &stdout, stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for begin := time.Now(); !strings.Contains(stderr.String(), "the window is open"); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(stderr.String(), "not installed") {
			<-ended
			t.Skip(stderr)
		}
		if time.Since(begin) > 20*time.Second {
			_ = c.Process.Kill()
			t.Fatalf("no window: %s", stderr)
		}
	}
	time.Sleep(500 * time.Millisecond)
	_ = c.Process.Signal(syscall.SIGINT)
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%v: %s", err, stderr)
		}
	case <-time.After(20 * time.Second):
		_ = c.Process.Kill()
		t.Fatalf("it does not end: %s", stderr)
	}
	if stdout.Len() != 0 || strings.Contains(stderr.String(), "in a browser") {
		t.Errorf("there is a page as well: %q, %s", &stdout, stderr)
	}
	if b, err := os.Stat(file); err != nil || b.Size() < 1000 {
		t.Errorf("nothing is recorded: %v, %s", err, stderr)
	}
}
