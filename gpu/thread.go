package gpu

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// defaultPatience is how long a call of the driver may take. The slowest GPU needs a second for the largest window
// on an 8K picture; one that takes this long is gone.
const defaultPatience = 30 * time.Second

// errSilent is the failure of a device that does not come back.
const errSilent = status(-1)

// silence tells the threads of a device that one of them waits for a call that does not come back.
type silence struct {
	once  sync.Once
	begun chan struct{}
}

func newSilence() *silence { return &silence{begun: make(chan struct{})} }
func (s *silence) begin()  { s.once.Do(func() { close(s.begun) }) }

func (s *silence) has() bool {
	select {
	case <-s.begun:
		return true
	default:
		return false
	}
}

// thread is an OS thread of its own: what a driver keeps by thread, the current context before all, stays
// with those who call through it.
type thread struct {
	calls    chan func()
	patience time.Duration
	silence  *silence
}

func newThread(patience time.Duration, s *silence) *thread {
	t := &thread{calls: make(chan func()), patience: patience, silence: s}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread and all that the driver hung on it end here
		for f := range t.calls {
			f()
		}
	}()
	return t
}

// call runs f on the thread and waits for what it returns, until ctx ends or patience does; f may then still
// be running, so it must share no variables with its caller. Calls from several goroutines take turns.
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
	for {
		select {
		case calls <- func() { v, err := f(); answers <- answer{v, err} }:
			calls = nil
		case a := <-answers:
			return a.value, a.err
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-t.silence.begun:
			return none, errSilent
		case <-timer.C:
			t.silence.begin()
		}
	}
}

// do is call for what only succeeds or fails. It heeds no context: what is half queued could not be undone.
func (t *thread) do(f func() error) error {
	_, err := call(context.Background(), t, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// close ends the thread after its last call. Nothing may be called afterwards.
func (t *thread) close() { close(t.calls) }
