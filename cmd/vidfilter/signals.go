package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruption is the cause of a context that a signal cancelled, and the end of a job that one stopped.
type interruption struct{ signal syscall.Signal }

func (i interruption) Error() string { return "interrupted by " + signalName(i.signal) }

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return fmt.Sprintf("signal %d", s)
}

// ignoreWriteSignals turns a reader that went away and a file size limit into errors of the write that
// meets them (EPIPE, EFBIG), in Go and in C alike, so that they are reported instead of killing silently.
func ignoreWriteSignals() {
	signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ)
}

// jobFunc does a job until it is done or ctx is cancelled. After stop is closed it ends the output cleanly
// where it is and says so in result.Interrupted.
type jobFunc func(ctx context.Context, o *options, u *ui, stop <-chan struct{}) (result, error)

// interruptible runs job under the rules of signals: the first ends it cleanly, the second cancels it, and
// a third, or a moment without effect, gives up waiting for that. A job that was ended cleanly returns an interruption as its error.
func interruptible(o *options, u *ui, job jobFunc) (result, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, wantedSignals()...)
	defer signal.Stop(signals)

	w := watcher{stop: make(chan struct{}), cancel: cancel, ui: u, exit: os.Exit}
	quit, watched := make(chan struct{}), make(chan struct{})
	go func() { defer close(watched); w.watch(signals, quit) }()
	res, err := job(ctx, o, u, w.stop)
	close(quit)
	<-watched
	return res, interruptedError(ctx, w.first, res, err)
}

// interruptedError lets the signal be the reason where it is: a job that is cancelled fails in whatever
// call it was in, and that error says nothing.
func interruptedError(ctx context.Context, first syscall.Signal, res result, err error) error {
	var cause interruption
	switch {
	case err != nil && errors.As(context.Cause(ctx), &cause):
		return cause
	case errors.As(err, &cause), err == nil && res.Interrupted:
		return interruption{first}
	}
	return err
}

// wantedSignals leaves out SIGHUP where the parent ignores it: that is nohup's request to go on.
func wantedSignals() []os.Signal {
	s := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}

type watcher struct {
	stop   chan struct{}
	cancel context.CancelCauseFunc
	ui     *ui
	exit   func(code int)
	first  syscall.Signal // to be read when watch has returned
	last   syscall.Signal
}

// patience is how long a cancelled job may take to notice. One that writes into a pipe which nobody reads,
// or reads from a dead disk, never does.
const patience = 2 * time.Second

func (w *watcher) watch(signals <-chan os.Signal, quit <-chan struct{}) {
	var late <-chan time.Time
	for n := 1; ; n++ {
		select {
		case s := <-signals:
			w.handle(n, s.(syscall.Signal))
			if n == 2 {
				late = time.After(patience)
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
		w.ui.notice("%s: ending the file here; once more to stop at once and leave nothing", signalName(s))
		close(w.stop)
	case 2:
		w.ui.notice("%s again: stopping at once", signalName(s))
		w.cancel(interruption{s})
	default:
		w.giveUp(s)
	}
	w.last = s
}

func (w *watcher) giveUp(s syscall.Signal) {
	w.ui.abandon()
	w.exit(w.ui.finish(result{}, interruption{s}))
}
