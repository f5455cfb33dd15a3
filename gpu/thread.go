package gpu

import "runtime"

// thread is an OS thread of its own: what a driver keeps by thread, the current context before all, stays
// with those who call through it.
type thread struct{ calls chan func() }

func newThread() *thread {
	t := &thread{calls: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread and all that the driver hung on it end here
		for f := range t.calls {
			f()
		}
	}()
	return t
}

// do runs f on the thread and waits for it. Calls from several goroutines take turns.
func (t *thread) do(f func()) {
	done := make(chan struct{})
	t.calls <- func() {
		defer close(done)
		f()
	}
	<-done
}

// close ends the thread after its last call. Nothing may be called afterwards.
func (t *thread) close() { close(t.calls) }
