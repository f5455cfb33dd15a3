package gpu

import (
	"context"
	"runtime"
	"time"
)

// defaultPatience is how long a driver call may take. The slowest GPU needs a second for the
// largest window on an 8K picture; one that takes this long is lost.
const defaultPatience = 30 * time.Second

// errSilent is the failure of a device that does not respond.
const errSilent = status(-1)

// thread is a dedicated OS thread, since the driver keeps state per thread, above all the current
// context.
type thread struct {
	calls    chan func()
	patience time.Duration
	// alive ends, for all threads of a device, when one of them is stuck in a driver call.
	alive  context.Context
	giveUp context.CancelFunc
}

func newThread(patience time.Duration, alive context.Context, giveUp context.CancelFunc) *thread {
	t := &thread{make(chan func()), patience, alive, giveUp}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread and its driver state end here
		for f := range t.calls {
			f()
		}
	}()
	return t
}

// call runs f on the thread and returns its result. If ctx ends or patience runs out first, f may
// still be running, so it must share no variables with its caller. Concurrent calls are
// serialized.
func call[T any](ctx context.Context, t *thread, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	timer := time.NewTimer(t.patience)
	defer timer.Stop()
	calls := t.calls
	var none T
	if t.alive.Err() != nil { // a select might take the call all the same
		return none, errSilent
	}
	for {
		select {
		case calls <- func() { v, err := f(); answers <- answer{v, err} }:
			calls = nil
		case a := <-answers:
			return a.value, a.err
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-t.alive.Done():
			return none, errSilent
		case <-timer.C:
			t.giveUp()
		}
	}
}

// do is call for functions that return only an error. It takes no context, since partially queued
// work cannot be undone.
func (t *thread) do(f func() error) error {
	_, err := call(context.Background(), t, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// close ends the thread after its last call. No calls may follow.
func (t *thread) close() { close(t.calls) }
