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

func TestFirstSignalEndsCleanly(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 143} {
		u, screen := testUI(t, "--quiet")
		res, err := Interruptible(u, func(ctx context.Context, stop <-chan struct{}) (Result, error) {
			defer u.Track(func() Snapshot { return Snapshot{} })()
			kill(t, s)
			wait(t, "stop", stop)
			return Result{Done: contract.Done{Interrupted: true, Output: "out.mp4"}}, ctx.Err()
		})
		if code != u.Finish(res, err) || !strings.Contains(screen.String(), "ending the file") {
			t.Errorf("%v: error %v, said %q", s, err, screen)
		}
	}
}

func TestSecondSignalStops(t *testing.T) {
	u, _ := testUI(t)
	res, err := Interruptible(u, func(ctx context.Context, stop <-chan struct{}) (Result, error) {
		kill(t, syscall.SIGINT)
		wait(t, "stop", stop)
		kill(t, syscall.SIGTERM)
		wait(t, "cancellation", ctx.Done())
		return Result{}, errors.New("read: immediate exit requested")
	})
	if code := u.Finish(res, err); code != 143 {
		t.Errorf("exit code %d, error %v", code, err)
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

// TestSignalTooLate: the job was through before it saw the signal.
func TestSignalTooLate(t *testing.T) {
	u, _ := testUI(t)
	res, err := Interruptible(u, func(_ context.Context, stop <-chan struct{}) (Result, error) {
		kill(t, syscall.SIGINT)
		wait(t, "stop", stop)
		return Result{Done: contract.Done{Output: "out.mp4"}}, nil
	})
	if code := u.Finish(res, err); code != 0 {
		t.Errorf("exit code %d, error %v", code, err)
	}
}

// TestFailureAfterSignal: a disk that is full while the file is ended is the news, not the signal.
func TestFailureAfterSignal(t *testing.T) {
	u, _ := testUI(t)
	full := errors.New("disk full")
	_, err := Interruptible(u, func(_ context.Context, stop <-chan struct{}) (Result, error) {
		kill(t, syscall.SIGINT)
		wait(t, "stop", stop)
		return Result{Done: contract.Done{Interrupted: true}}, full
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
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
