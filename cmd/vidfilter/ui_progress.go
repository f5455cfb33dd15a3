package main

import (
	"fmt"
	"time"
)

// clearLine goes to the first column and clears to the end.
const clearLine = "\r\x1b[K"

// track shows the progress that poll tells until stop is called, which waits for the last of it. poll is
// called from another goroutine, a few times a second.
func (u *ui) track(poll func() snapshot) (stop func()) {
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

// every returns the time between two shows, 0 for never.
func (u *ui) every() time.Duration {
	if u.interval > 0 {
		return u.interval
	}
	return map[string]time.Duration{
		"bar":   200 * time.Millisecond,
		"json":  500 * time.Millisecond,
		"plain": 5 * time.Second,
	}[u.mode]
}

func (u *ui) follow(poll func() snapshot, every time.Duration, quit <-chan struct{}) {
	t := newTracker(u.now())
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.show(t.observe(u.now(), poll()))
		case <-quit:
			if u.mode == "json" { // also a short job shows one
				u.show(t.observe(u.now(), poll()))
			}
			u.mu.Lock()
			u.clear()
			u.mu.Unlock()
			return
		}
	}
}

func (u *ui) show(s status) {
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

// clear takes the bar off the screen; u.mu is held.
func (u *ui) clear() {
	if u.line != "" {
		fmt.Fprint(u.w, clearLine)
		u.line = ""
	}
}
