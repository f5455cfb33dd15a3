package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kill sends s to this process, which interruptible is to catch.
func kill(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("no ", what)
	}
}

func TestFirstSignalEndsCleanly(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 143} {
		u, screen := testUI(t, "--quiet")
		res, err := interruptible(defaultOptions(), u, func(ctx context.Context, _ *options, _ *ui, stop <-chan struct{}) (result, error) {
			kill(t, s)
			wait(t, "stop", stop)
			return result{Interrupted: true, Output: "out.mp4"}, ctx.Err()
		})
		if code != u.finish(res, err) || !strings.Contains(screen.String(), "ending the file") {
			t.Errorf("%v: error %v, said %q", s, err, screen)
		}
	}
}

func TestSecondSignalStops(t *testing.T) {
	u, _ := testUI(t)
	res, err := interruptible(defaultOptions(), u, func(ctx context.Context, _ *options, _ *ui, stop <-chan struct{}) (result, error) {
		kill(t, syscall.SIGINT)
		wait(t, "stop", stop)
		kill(t, syscall.SIGTERM)
		wait(t, "cancellation", ctx.Done())
		return result{}, errors.New("read: immediate exit requested")
	})
	if code := u.finish(res, err); code != exitTerminated {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

func TestThirdSignalDoesNotWait(t *testing.T) {
	u, screen := testUI(t, "--progress", "json")
	exited, removed := -1, false
	u.onAbandon(func() { removed = true })
	w := watcher{stop: make(chan struct{}), cancel: func(error) {}, ui: u, exit: func(code int) { exited = code }}
	for n := range 3 {
		w.handle(n+1, syscall.SIGINT)
	}
	if exited != exitInterrupt || !removed {
		t.Errorf("exit code %d, removed what was written: %v", exited, removed)
	}
	wantJSONStream(t, screen.String(), exitInterrupt)
}

// TestSignalTooLate: the job was through before it saw the signal.
func TestSignalTooLate(t *testing.T) {
	u, _ := testUI(t)
	res, err := interruptible(defaultOptions(), u, func(_ context.Context, _ *options, _ *ui, stop <-chan struct{}) (result, error) {
		kill(t, syscall.SIGINT)
		wait(t, "stop", stop)
		return result{Output: "out.mp4"}, nil
	})
	if code := u.finish(res, err); code != exitDone {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

// TestFailureAfterSignal: a disk that is full while the file is ended is the news, not the signal.
func TestFailureAfterSignal(t *testing.T) {
	u, _ := testUI(t)
	full := errors.New("disk full")
	_, err := interruptible(defaultOptions(), u, func(_ context.Context, _ *options, _ *ui, stop <-chan struct{}) (result, error) {
		kill(t, syscall.SIGINT)
		wait(t, "stop", stop)
		return result{Interrupted: true}, full
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestQuestionEndsWithTheSignal(t *testing.T) {
	u, _ := testUI(t)
	u.in, _, _ = os.Pipe()
	res, err := interruptible(defaultOptions(), u, func(_ context.Context, o *options, u *ui, stop <-chan struct{}) (result, error) {
		u.canAsk = true
		kill(t, syscall.SIGTERM)
		return result{}, o.overwritePolicy(u, stop)("out.mp4")
	})
	if code := u.finish(res, err); code != exitTerminated {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

func TestClosedPipeIsAnError(t *testing.T) {
	ignoreWriteSignals()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	old, err := syscall.Dup(1)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(old)
	if err := syscall.Dup2(int(w.Fd()), 1); err != nil { // Go dies of SIGPIPE only when it writes to 1 and 2
		t.Fatal(err)
	}
	code := run([]string{"help"}, stdio{os.Stdin, os.Stdout, new(screen), nil})
	if err := syscall.Dup2(old, 1); err != nil {
		t.Fatal(err)
	}
	if code != exitOutput {
		t.Errorf("exit code %d, want %d", code, exitOutput)
	}
}

// TestBenchInterrupted: a signal ends a measurement with the exit code that it has everywhere, and no file is left.
func TestBenchInterrupted(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir := t.TempDir()
		p := vidfilterIn(t, dir, "bench", "--device", "cpu", "--only", "end,cpu", "--size", "1080p", "--plot", "plot.svg")
		p.Env = append(os.Environ(), "TMPDIR="+dir)
		p.start()
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if clips, _ := filepath.Glob(filepath.Join(dir, "vidfilter-bench-*", "*.mp4")); len(clips) > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("no clip is made")
			}
		}
		p.signal(s)
		p.wantExit(code)
		wantOnly(t, dir)
	}
}
