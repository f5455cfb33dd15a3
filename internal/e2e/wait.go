package e2e

import (
	"io"
	"testing"
	"time"
)

// Patience is the deadline of every condition: long enough for a machine that is busy.
const Patience = 60 * time.Second

// interval is how often conditions are looked at.
const interval = 5 * time.Millisecond

// Within polls a condition for at most d, and reports whether it came.
func Within(d time.Duration, ok func() bool) bool {
	for begun := time.Now(); !ok(); time.Sleep(interval) {
		if time.Since(begun) > d {
			return false
		}
	}
	return true
}

// Until waits for a condition, which must come.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !Within(Patience, ok) {
		t.Fatalf("it does not come: %s", what)
	}
}

// Stays fails the test if a condition ends within d. It takes all of d, for tests of things that
// must not happen.
func Stays(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	if Within(d, func() bool { return !ok() }) {
		t.Errorf("it does not stay: %s", what)
	}
}

// Settled waits until a value has not changed for d, and returns it.
func Settled[T comparable](t testing.TB, d time.Duration, what string, value func() T) T {
	t.Helper()
	last, since := value(), time.Now()
	Until(t, what+" settles", func() bool {
		if now := value(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > d
	})
	return last
}

// During calls f every interval for length.
func During(length, interval time.Duration, f func()) {
	for begun := time.Now(); time.Since(begun) < length; time.Sleep(interval) {
		f()
	}
}

// WriteSlowly writes data in pieces with a pause after each.
func WriteSlowly(t testing.TB, w io.Writer, data []byte, pieces int, pause time.Duration) {
	t.Helper()
	for i := range pieces {
		_, err := w.Write(data[i*len(data)/pieces : (i+1)*len(data)/pieces])
		Must(t, err)
		time.Sleep(pause)
	}
}
