package window

import "runtime"

// thread is an OS thread of its own. SDL requires all calls, except those that queue events, to
// come from the thread that opened the window.
type thread chan func()

func newThread() thread {
	t := make(thread)
	go func() {
		runtime.LockOSThread() // never unlocked: the driver's thread state ends with the thread
		for f := range t {
			f()
		}
	}()
	return t
}

// do runs f on the thread and waits for its end.
func (t thread) do(f func()) {
	done := make(chan struct{})
	t <- func() { defer close(done); f() }
	<-done
}
