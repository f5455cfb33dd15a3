package window

import "runtime"

// thread is an OS thread of its own: all calls of SDL but that which queues an event are to come from the one that opened the window.
type thread chan func()

func newThread() thread {
	t := make(thread)
	go func() {
		runtime.LockOSThread() // never unlocked: what a graphics driver hung on the thread ends with it
		for f := range t {
			f()
		}
	}()
	return t
}

// do runs f on the thread, and returns when it has.
func (t thread) do(f func()) {
	done := make(chan struct{})
	t <- func() { defer close(done); f() }
	<-done
}
