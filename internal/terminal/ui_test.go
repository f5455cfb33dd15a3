package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// testUI takes flags as a job does.
func testUI(t *testing.T, args ...string) (*UI, *e2e.Log) {
	t.Helper()
	s := new(e2e.Log)
	return NewUI(Stdio{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: s}, uiFlags(t, args)), s
}

func uiFlags(t *testing.T, args []string) UIOptions {
	t.Helper()
	o := UIOptions{ScreenOptions: ScreenOptions{Progress: "auto"}}
	fs := cli.NewFlagSet()
	tab := cli.NewTable(fs, "Test")
	tab.Add(cli.String(&o.Progress, "NAME"), "progress", "", "")
	tab.Flag(&o.Quiet, "quiet", "q", "")
	tab.Flag(&o.Verbose, "verbose", "v", "")
	tab.Flag(&o.NeverAsk, "no-overwrite", "n", "")
	e2e.Must(t, cli.ParseArguments(fs, args, ""))
	return o
}

var errDamaged = contract.NewClass(contract.ExitDamaged, "output not verified")

func TestMessages(t *testing.T) {
	say := func(u *UI) {
		u.Warn("w1")
		u.Warn("w1")
		u.Info("i")
		u.Debug("v")
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
	done := Result{Kept: true, Done: contract.Done{
		Frame: 10, Elapsed: 1, InSize: 1, Size: 2, Output: "out.mp4", Damage: map[string]int64{"corrupt packets": 3},
	}}
	stopped := done
	stopped.Interrupted = true
	aside, unfit := stopped, done
	aside.Output, aside.Spared = "out.interrupted.mp4", "out.mp4"
	unfit.Output, unfit.Spared, unfit.Unverified = "out.unverified.mp4", "out.mp4", true
	damaged := fmt.Errorf("4 frames are missing: %w", errDamaged)
	summary := "vidfilter: damage: corrupt packets: 3\n10 frames in 1.0 s (10.0 fps), 1 B in, 2 B out\n"
	partly := strings.Replace(summary, "1 B in, ", "", 1) // not all of it came in
	tests := []struct {
		name string
		args string
		res  Result
		err  error
		want string
		code int
	}{
		{"done", "", done, nil, summary, 0},
		{"quiet", "-q", done, nil, "", 0},
		{"no progress", "--progress none", done, nil, summary, 0},
		{"failed", "-q", Result{}, errors.New("x"), "vidfilter: x\n", 1},
		{"damaged", "", done, damaged, summary + "vidfilter: 4 frames are missing: output not verified\n", 6},
		{"stopped", "", stopped, Interruption{syscall.SIGINT}, partly + "vidfilter: interrupted by SIGINT; out.mp4 holds the part done so far\n", 130},
		{"stopped aside", "", aside, Interruption{syscall.SIGTERM}, partly +
			"vidfilter: interrupted by SIGTERM; out.interrupted.mp4 holds the part done so far, and out.mp4 is unchanged\n", 143},
		{"unfit", "-q", unfit, damaged,
			"vidfilter: 4 frames are missing: output not verified; the output is in out.unverified.mp4, and out.mp4 is unchanged\n", 6},
		{"killed", "", Result{}, Interruption{syscall.SIGTERM}, "vidfilter: interrupted by SIGTERM\n", 143},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u, s := testUI(t, strings.Fields(test.args)...)
			for range 2 {
				if code := u.Finish(test.res, test.err); code != test.code {
					t.Errorf("exit code %d, want %d", code, test.code)
				}
			}
			u.Warn("too late")
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
	stop := u.Track(func() Snapshot { return Snapshot{Frames: 1} })
	u.Warn("line\nbreak")
	time.Sleep(20 * time.Millisecond)
	stop()
	stop()
	u.Finish(Result{}, errors.New("x"))
	e2e.JSONLines(t, s.String(), 1)
}

func TestShortJobShowsProgressInJSON(t *testing.T) {
	u, s := testUI(t, "--progress", "json")
	u.Track(func() Snapshot { return Snapshot{Frames: 5} })()
	if !strings.Contains(s.String(), `"frame":5`) {
		t.Errorf("%q", s)
	}
}

func TestPlainProgress(t *testing.T) {
	u, s := testUI(t)
	u.interval = time.Millisecond
	stop := u.Track(func() Snapshot { return Snapshot{Frames: 1, Total: 2} })
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
		u.Track(func() Snapshot { t.Error("polled"); return Snapshot{} })()
		if s.String() != "" {
			t.Errorf("%q", s)
		}
	}
}

func TestBarAndMessages(t *testing.T) {
	u, s := testUI(t)
	u.Mode, u.Size = "bar", func() (int, int) { return 41, 24 }
	u.show(progress{Snapshot: Snapshot{Frames: 7}})
	u.Info("hello")
	u.Finish(Result{}, errors.New("x"))
	bar := "7 frames  0.0 fps  0.00x  0 B\n"
	want := bar + clearLine + "vidfilter: hello\n" + bar + clearLine + "vidfilter: x\n"
	if s.String() != want {
		t.Errorf("got %q, want %q", s, want)
	}
}

func TestSlowestStage(t *testing.T) {
	for rows, second := range map[int]string{24: "decoding 10%, filter 20%, encoder 70%; …\n", 2: ""} {
		u, s := testUI(t)
		u.Mode, u.Size = "bar", func() (int, int) { return 41, rows }
		u.show(progress{Snapshot: Snapshot{Frames: 7, DecodeBusy: time.Second, FilterBusy: 2 * time.Second, EncodeBusy: 7 * time.Second, Slowest: "x264 (--preset fast)"}})
		if want := "7 frames  0.0 fps  0.00x  0 B\n" + second; s.String() != want {
			t.Errorf("%d rows: got %q, want %q", rows, s, want)
		}
	}
}
