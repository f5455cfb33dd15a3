package terminal

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vidfilter/internal/e2e"
)

// terminal returns both ends of a pseudo-terminal.
func terminal(t *testing.T, columns uint16) (person, program *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	person = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { person.Close() })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	t.Cleanup(func() { program.Close() })
	resize(t, program, columns)
	return person, program
}

func resize(t *testing.T, f *os.File, columns uint16) {
	t.Helper()
	e2e.Must(t, unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
}

// clearLine erases the bar.
const clearLine = "\r\x1b[1A\x1b[J"

// see reads from the person's end until it has seen part.
func see(t *testing.T, person *os.File, part string) string {
	t.Helper()
	person.SetReadDeadline(time.Now().Add(10 * time.Second))
	var seen strings.Builder
	b := make([]byte, 1024)
	for !strings.Contains(seen.String(), part) {
		n, err := person.Read(b)
		if err != nil {
			t.Fatalf("%v after %q, without %q", err, seen.String(), part)
		}
		seen.Write(b[:n])
	}
	return seen.String()
}

func terminalUI(t *testing.T, tty *os.File, env []string, args ...string) *UI {
	t.Helper()
	return NewUI(Stdio{tty, tty, tty, env}, uiFlags(t, args))
}

func TestBarOnTerminal(t *testing.T) {
	person, program := terminal(t, 120)
	u := terminalUI(t, program, nil)
	if u.Mode != "bar" || !u.Colors || !u.CanAsk {
		t.Fatalf("mode %s, color %v, may ask %v", u.Mode, u.Colors, u.CanAsk)
	}
	stop := u.Track(func() Snapshot { return Snapshot{Frames: 50, Total: 100} })
	see(t, person, "[####################--------------------]  50%  50/100 frames")
	resize(t, program, 12)
	see(t, person, clearLine+" 50%\r\n"+clearLine)
	stop()
	u.Warn("x")
	see(t, person, clearLine+"vidfilter: \x1b[33mwarning:\x1b[0m x\r\n")
}

// TestBarEndsWithTheLastState: the bar shows frames written since the last report.
func TestBarEndsWithTheLastState(t *testing.T) {
	person, program := terminal(t, 120)
	u := terminalUI(t, program, nil)
	u.interval = time.Hour
	u.Track(func() Snapshot { return Snapshot{Frames: 65, Total: 65} })()
	u.Warn("x")
	seen := see(t, person, clearLine+"vidfilter: \x1b[33mwarning:\x1b[0m x\r\n")
	if !strings.Contains(seen, "] 100%  65/65 frames") {
		t.Errorf("the last state is not in %q", seen)
	}
}

func TestDumbAndColourless(t *testing.T) {
	_, program := terminal(t, 80)
	if u := terminalUI(t, program, []string{"TERM=dumb"}); u.Mode != "plain" || u.Colors {
		t.Errorf("dumb: mode %s, color %v", u.Mode, u.Colors)
	}
	if u := terminalUI(t, program, []string{"TERM=dumb"}, "--progress", "bar"); u.Mode != "plain" {
		t.Errorf("dumb with a bar asked for: mode %s", u.Mode)
	}
	if u := terminalUI(t, program, []string{"NO_COLOR=1", "TERM=xterm"}); u.Mode != "bar" || u.Colors {
		t.Errorf("NO_COLOR: mode %s, color %v", u.Mode, u.Colors)
	}
}

func TestQuestion(t *testing.T) {
	for answer, replace := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "\x04": false} {
		person, program := terminal(t, 80)
		u := terminalUI(t, program, nil)
		got := make(chan error, 1)
		go func() { got <- u.Confirm("a\nb.mp4", nil) }()
		see(t, person, `a\u000ab.mp4 exists. Replace it? [y/N] `)
		person.WriteString(answer)
		if err := <-got; (err == nil) != replace {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestNobodyToAsk(t *testing.T) {
	_, program := terminal(t, 80)
	for name, u := range map[string]*UI{
		"-n":   terminalUI(t, program, nil, "-n"),
		"json": terminalUI(t, program, nil, "--progress", "json"),
	} {
		if u.CanAsk {
			t.Errorf("%s: asks", name)
		}
	}
	if u, _ := testUI(t); u.CanAsk {
		t.Error("asks where there is no terminal")
	}
}
