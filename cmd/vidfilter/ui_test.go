package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vidfilter/encode"
)

// screen is a stderr that may be written to and read at once.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func testUI(t *testing.T, args ...string) (*ui, *screen) {
	t.Helper()
	o, err := parseOptions(base(args...), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := new(screen)
	return newUI(o, stdio{in: strings.NewReader(""), out: new(bytes.Buffer), err: s}), s
}

func TestMessages(t *testing.T) {
	say := func(u *ui) {
		u.warn("w%d", 1)
		u.warn("w%d", 1)
		u.info("i")
		u.verbose("v")
	}
	for args, want := range map[string]string{
		"":                       "vidfilter: warning: w1\nvidfilter: i\n",
		"--verbose":              "vidfilter: warning: w1\nvidfilter: i\nvidfilter: v\n",
		"--quiet":                "",
		"--progress json":        `{"type":"warning","message":"w1"}` + "\n" + `{"type":"info","message":"i"}` + "\n",
		"--progress json -q":     "",
		"--progress none":        "vidfilter: warning: w1\nvidfilter: i\n",
		"--progress bar --quiet": "",
	} {
		u, s := testUI(t, strings.Fields(args)...)
		say(u)
		if s.String() != want {
			t.Errorf("%q: got %q, want %q", args, s, want)
		}
		if len(u.warnings) != 1 {
			t.Errorf("%q: warnings %q", args, u.warnings)
		}
	}
}

func TestFinish(t *testing.T) {
	done := result{Frames: 10, Elapsed: time.Second, InBytes: 1, OutBytes: 2, Output: "out.mp4", Damage: map[string]int64{"corrupt packets": 3}}
	stopped := done
	stopped.Interrupted = true
	damaged := fmt.Errorf("4 frames are missing: %w", encode.ErrDamaged)
	summary := "vidfilter: damage: corrupt packets: 3\n10 frames in 1.0 s (10.0 fps), 1 B in, 2 B out\n"
	tests := []struct {
		name string
		args string
		res  result
		err  error
		want string
		code int
	}{
		{"done", "", done, nil, summary, 0},
		{"quiet", "-q", done, nil, "", 0},
		{"no progress", "--progress none", done, nil, summary, 0},
		{"failed", "-q", result{}, errors.New("x"), "vidfilter: x\n", 1},
		{"damaged", "", done, damaged, summary + "vidfilter: 4 frames are missing: output not verified\n", 6},
		{"stopped", "", stopped, interruption{syscall.SIGINT}, summary + "vidfilter: interrupted by SIGINT; out.mp4 holds what was done until then\n", 130},
		{"killed", "", result{}, interruption{syscall.SIGTERM}, "vidfilter: interrupted by SIGTERM\n", 143},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u, s := testUI(t, strings.Fields(test.args)...)
			for range 2 {
				if code := u.finish(test.res, test.err); code != test.code {
					t.Errorf("exit code %d, want %d", code, test.code)
				}
			}
			u.warn("too late")
			if s.String() != test.want {
				t.Errorf("got %q, want %q", s, test.want)
			}
		})
	}
}

// TestJSONStream checks that every line is an object and exactly the last is a done.
func TestJSONStream(t *testing.T) {
	u, s := testUI(t, "--progress", "json")
	u.interval = time.Millisecond
	stop := u.track(func() snapshot { return snapshot{Frames: 1} })
	u.warn("line\nbreak")
	time.Sleep(20 * time.Millisecond)
	stop()
	stop()
	u.finish(result{}, errors.New("x"))
	wantJSONStream(t, s.String(), 1)
}

func wantJSONStream(t *testing.T, text string, exitCode int) map[string]any {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var last map[string]any
	for i, line := range all {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if (last["type"] == "done") != (i == len(all)-1) {
			t.Errorf("line %d of %d is %s", i+1, len(all), line)
		}
	}
	if last["exit_code"] != float64(exitCode) {
		t.Errorf("exit code %v, want %d", last["exit_code"], exitCode)
	}
	return last
}

func TestShortJobShowsProgressInJSON(t *testing.T) {
	u, s := testUI(t, "--progress", "json")
	u.track(func() snapshot { return snapshot{Frames: 5} })()
	if !strings.Contains(s.String(), `"frame":5`) {
		t.Errorf("%q", s)
	}
}

func TestPlainProgress(t *testing.T) {
	u, s := testUI(t)
	u.interval = time.Millisecond
	stop := u.track(func() snapshot { return snapshot{Frames: 1, Total: 2} })
	for !strings.Contains(s.String(), "\n") {
		time.Sleep(time.Millisecond)
	}
	stop()
	if !strings.HasPrefix(s.String(), "vidfilter: 50%, 1/2 frames, ") || strings.Contains(s.String(), "\x1b") {
		t.Errorf("%q", s)
	}
}

func TestNoProgress(t *testing.T) {
	for _, args := range [][]string{{"--progress", "none"}, {"--quiet"}} {
		u, s := testUI(t, args...)
		u.track(func() snapshot { t.Error("polled"); return snapshot{} })()
		if s.String() != "" {
			t.Errorf("%q", s)
		}
	}
}

func TestBarAndMessages(t *testing.T) {
	u, s := testUI(t)
	u.mode, u.width = "bar", func() int { return 40 }
	u.show(status{snapshot: snapshot{Frames: 7}, Part: -1, Left: -1})
	u.info("hello")
	u.finish(result{}, errors.New("x"))
	bar := "7 frames  0.0 fps  0.00x  0 B"
	want := clearLine + bar + clearLine + "vidfilter: hello\n" + bar + clearLine + "vidfilter: x\n"
	if s.String() != want {
		t.Errorf("got %q, want %q", s, want)
	}
}
