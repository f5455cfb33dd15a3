package jetstream

import (
	"log/slog"
	"syscall"
	"testing"
)

// A stream whose file could not be written takes no more, and does not tell those who watch it what
// it had stored: that is said at once, since a batch would wait for ever.
func TestWriteFailed(t *testing.T) {
	failing := make(chan bool, 1)
	l := &logger{Logger: slog.New(slog.DiscardHandler), isLow: func() bool { return false }, failing: func() { failing <- true }}
	l.Errorf("JetStream failed to store a msg on stream %s: %v", "x", syscall.EIO)
	if l.low.Load() || len(failing) > 0 {
		t.Error("any error counts")
	}
	l.Errorf("Filestore [KV_vf-jobs] Critical write error: %v", syscall.EIO)
	if <-failing; !l.low.Load() {
		t.Error("the server is not restarted")
	}
}
