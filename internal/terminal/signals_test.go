package terminal

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// kill sends s to this process, which interruptible is to catch.
func kill(t *testing.T, s syscall.Signal) {
	t.Helper()
	e2e.Must(t, syscall.Kill(os.Getpid(), s))
}

func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("no ", what)
	}
}

// TestSignals: the first signal ends the file, the second one the job. A job that was through
// before it saw the signal has succeeded, and an error of ending the file matters more than the
// signal.
func TestSignals(t *testing.T) {
	full := errors.New("disk full")
	stopped := contract.Done{Interrupted: true, Output: "out.mp4"}
	for _, c := range []struct {
		name    string
		signals []syscall.Signal
		done    contract.Done
		err     error
		code    int
	}{
		{"Ctrl-C", []syscall.Signal{syscall.SIGINT}, stopped, nil, 130},
		{"terminated", []syscall.Signal{syscall.SIGTERM}, stopped, nil, 143},
		{"hung up", []syscall.Signal{syscall.SIGHUP}, stopped, nil, 143},
		{"second", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, contract.Done{}, errors.New("read: immediate exit requested"), 143},
		{"too late", []syscall.Signal{syscall.SIGINT}, contract.Done{Output: "out.mp4"}, nil, 0},
		{"failure", []syscall.Signal{syscall.SIGINT}, stopped, full, contract.ExitCode(full)},
	} {
		u, screen := testUI(t, "--quiet")
		res, err := Interruptible(u, func(ctx context.Context, stop <-chan struct{}) (Result, error) {
			defer u.Track(func() Snapshot { return Snapshot{} })()
			for i, s := range c.signals {
				kill(t, s)
				wait(t, "stop", []<-chan struct{}{stop, ctx.Done()}[i])
			}
			return Result{Done: c.done}, c.err
		})
		if code := u.Finish(res, err); code != c.code || !strings.Contains(screen.String(), "ending the file") {
			t.Errorf("%s: exit code %d, error %v, said %q", c.name, code, err, screen)
		}
	}
}

// A job that takes too long to end cleanly is cancelled after SIGTERM, but not after Ctrl-C.
func TestTermDoesNotWaitForLong(t *testing.T) {
	for s, cancelled := range map[syscall.Signal]bool{syscall.SIGTERM: true, syscall.SIGINT: false} {
		u, screen := testUI(t)
		stopped := make(chan error, 1)
		w := watcher{
			stop: make(chan struct{}), cancel: func(err error) { stopped <- err }, ui: u,
			grace: 20 * time.Millisecond, exit: func(int) { t.Error("abandoned") },
		}
		signals, quit, watched := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
		go func() { defer close(watched); w.watch(signals, quit) }()
		signals <- s
		wait(t, "stop", w.stop)
		select {
		case err := <-stopped:
			if !cancelled || err != (Interruption{s}) || !strings.Contains(screen.String(), "stopping at once") {
				t.Errorf("%v: %v, said %q", s, err, screen)
			}
		case <-time.After(map[bool]time.Duration{true: 10 * time.Second, false: 100 * time.Millisecond}[cancelled]):
			if cancelled {
				t.Errorf("%v: the job goes on", s)
			}
		}
		close(quit)
		<-watched
	}
}

func TestThirdSignalDoesNotWait(t *testing.T) {
	u, screen := testUI(t, "--progress", "json")
	exited, removed := -1, false
	u.OnAbandon(func() { removed = true })
	w := watcher{stop: make(chan struct{}), cancel: func(error) {}, ui: u, exit: func(code int) { exited = code }}
	for n := range 3 {
		w.handle(n+1, syscall.SIGINT)
	}
	if exited != 130 || !removed {
		t.Errorf("exit code %d, removed what was written: %v", exited, removed)
	}
	e2e.JSONLines(t, screen.String(), 130)
}

func TestQuestionEndsWithTheSignal(t *testing.T) {
	u, _ := testUI(t)
	u.in, _, _ = os.Pipe()
	res, err := Interruptible(u, func(_ context.Context, stop <-chan struct{}) (Result, error) {
		u.CanAsk = true
		kill(t, syscall.SIGTERM)
		return Result{}, u.Confirm("out.mp4", stop)
	})
	if code := u.Finish(res, err); code != 143 {
		t.Errorf("exit code %d, error %v", code, err)
	}
}
