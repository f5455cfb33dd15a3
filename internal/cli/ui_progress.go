package cli

import (
	"fmt"
	"time"
)

// clearLine clears the line and returns to its start.
const clearLine = "\r\x1b[K"

// Track shows progress until stop is called, which waits for the last report. It calls poll a
// few times a second from another goroutine.
func (u *UI) Track(poll func() Snapshot) (stop func()) {
	every := u.every()
	if every == 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		u.follow(poll, every, quit)
	}()
	var stopped bool
	return func() {
		if !stopped {
			stopped = true
			close(quit)
			<-done
		}
	}
}

// every returns the interval between reports, 0 for none.
func (u *UI) every() time.Duration {
	if u.interval > 0 {
		return u.interval
	}
	return map[string]time.Duration{
		"bar":   200 * time.Millisecond,
		"json":  500 * time.Millisecond,
		"plain": 5 * time.Second,
	}[u.mode]
}

func (u *UI) follow(poll func() Snapshot, every time.Duration, quit <-chan struct{}) {
	t := newTracker(u.now())
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.show(t.observe(u.now(), poll()))
		case <-quit:
			if u.mode != "plain" { // a short job shows one too, and the last has the final counts
				u.show(t.observe(u.now(), poll()))
			}
			u.mu.Lock()
			u.clear()
			u.mu.Unlock()
			return
		}
	}
}

func (u *UI) show(s progress) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.done:
	case u.mode == "json":
		u.object(progressObject(s))
	case u.mode == "plain":
		fmt.Fprintf(u.w, "vidfilter: %s\n", plainLine(s))
	case u.mode == "bar":
		u.line = barLine(s, u.width()-1)
		fmt.Fprintf(u.w, "%s%s", clearLine, u.line)
	}
}

// clear removes the bar. u.mu must be held.
func (u *UI) clear() {
	if u.line != "" {
		fmt.Fprint(u.w, clearLine)
		u.line = ""
	}
}
