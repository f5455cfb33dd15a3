package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vidfilter/internal/contract"
	"vidfilter/internal/sandbox"
)

// Interruption is the error of a job that a signal ended, and the cause of its context.
type Interruption struct{ Signal syscall.Signal }

func (i Interruption) Error() string { return "interrupted by " + unix.SignalName(i.Signal) }

// Unwrap returns the class of the signal.
func (i Interruption) Unwrap() error {
	switch i.Signal {
	case syscall.SIGINT:
		return contract.Class(contract.ExitInterrupt)
	case syscall.SIGQUIT:
		return contract.Class(contract.ExitQuit)
	}
	return contract.Class(contract.ExitTerminated)
}

// IgnoreWriteSignals makes writes to a closed pipe or beyond the file size limit fail with
// EPIPE and EFBIG, in Go and C, instead of killing the program: temporary files are removed,
// and a full disk is reported.
func IgnoreWriteSignals() {
	signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ)
}

// jobFunc does a job until it is done or ctx is cancelled. Once stop is closed it ends the output
// cleanly at that point, and sets Result.Interrupted.
type jobFunc func(ctx context.Context, stop <-chan struct{}) (Result, error)

// Interruptible runs a job. The first signal ends it cleanly, SIGTERM within Grace; the second, or
// SIGQUIT, cancels it; a third, or patience running out, abandons it. A job that ended cleanly
// returns an Interruption as its error.
func Interruptible(u *UI, job jobFunc) (Result, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 3)
	defer sandbox.Notify(signals, WantedSignals()...)()

	w := watcher{stop: make(chan struct{}), cancel: cancel, ui: u, grace: Grace, exit: sandbox.Exit}
	quit, watched := make(chan struct{}), make(chan struct{})
	go func() { defer close(watched); w.watch(signals, quit) }()
	res, err := job(ctx, w.stop)
	close(quit)
	<-watched
	return res, interruptedError(ctx, w.first, res, err)
}

// interruptedError replaces the error of a cancelled job by the signal: it failed in some call,
// whose error is of no use.
func interruptedError(ctx context.Context, first syscall.Signal, res Result, err error) error {
	var cause Interruption
	switch {
	case err != nil && errors.As(context.Cause(ctx), &cause):
		return cause
	case errors.As(err, &cause), err == nil && res.Interrupted:
		return Interruption{first}
	}
	return err
}

// WantedSignals leaves out SIGHUP if the parent ignores it, as nohup does.
func WantedSignals() []os.Signal {
	s := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}

type watcher struct {
	stop   chan struct{}
	cancel context.CancelCauseFunc
	ui     *UI
	grace  time.Duration
	exit   func(code int)
	first  syscall.Signal // valid once watch has returned
	last   syscall.Signal
}

// Patience is how long a cancelled job may take to end. One that is blocked by a pipe without a
// reader, or by a dead disk, never does.
const Patience = 2 * time.Second

// Grace is how long a job may take to end cleanly after SIGTERM, since the sender kills it later.
// Kubernetes waits for 30 seconds, Docker for 10 by default.
const Grace = 7 * time.Second

func (w *watcher) watch(signals <-chan os.Signal, quit <-chan struct{}) {
	var overdue, late <-chan time.Time
	for n := 1; ; n++ {
		select {
		case s := <-signals:
			if s == syscall.SIGQUIT && n == 1 {
				n = 2 // w.stop stays open: there is no clean end
			}
			w.handle(n, s.(syscall.Signal))
			switch {
			case n == 1 && s == syscall.SIGTERM:
				overdue = time.After(w.grace)
			case n == 2:
				late = time.After(Patience)
			}
		case <-overdue:
			if n == 2 {
				w.ui.Notice(fmt.Sprintf("the end of the file takes more than %v", w.grace))
				w.handle(n, syscall.SIGTERM)
				late = time.After(Patience)
			}
		case <-late:
			w.giveUp(w.last)
		case <-quit:
			return
		}
	}
}

func (w *watcher) handle(n int, s syscall.Signal) {
	switch n {
	case 1:
		w.first = s
		if w.ui.hasBegun() {
			w.ui.Notice(unix.SignalName(s) + ": ending the file here; once more to stop at once and leave nothing")
		} else {
			w.ui.Notice(unix.SignalName(s) + ": stopping; nothing has been written")
		}
		close(w.stop)
	case 2:
		w.ui.Notice(unix.SignalName(s) + ": stopping at once")
		if w.first == 0 {
			w.first = s
		}
		w.cancel(Interruption{s})
	default:
		w.giveUp(s)
	}
	w.last = s
}

func (w *watcher) giveUp(s syscall.Signal) {
	w.ui.abandon()
	w.exit(w.ui.Finish(Result{}, Interruption{s}))
}

// UntilSignal returns a context that the first signal cancels, with an Interruption as its
// cause. The second signal has its default effect.
func UntilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	stop := sandbox.Notify(signals, WantedSignals()...)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case sig := <-signals:
			stop()
			cancel(Interruption{sig.(syscall.Signal)})
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel(nil)
		watching.Wait()
	}
}

// Stopped returns the Interruption that ended a service's context, but nil for SIGTERM: services
// are stopped so.
func Stopped(ctx context.Context) error {
	if err := context.Cause(ctx); err != (Interruption{syscall.SIGTERM}) {
		return err
	}
	return nil
}

// WhyCancelled returns the Interruption that cancelled ctx and so made err, or else err.
func WhyCancelled(ctx context.Context, err error) error {
	if cause := (Interruption{}); err != nil && errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return err
}
