package jetstream

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// A server reports a full disk, and recovers when there is room, without a restart of the
// process.
func TestDiskFull(t *testing.T) {
	dir := e2e.NeedsDisk(t, "12m")
	s := served(t, ServeOptions{Dir: filepath.Join(dir, "state")})
	e := connect(t, s.url(), s.Creds(pki.Submitter))
	submit(t, e, queue.Job{ID: "before", Site: "nowhere"}, false)
	e2e.Must(t, s.Health())
	// Another program fills the disk while the queue is idle.
	ballast := filepath.Join(dir, "ballast")
	e2e.Must(t, os.WriteFile(ballast, make([]byte, 8<<20), 0o666))
	if err := s.Health(); err == nil || !strings.Contains(err.Error(), "is full") {
		t.Errorf("a disk that is full beside an idle queue: %v", err)
	}
	e2e.Must(t, os.Remove(ballast))
	e2e.Must(t, s.Health())
	ctx, cancel := context.WithCancel(t.Context())
	stored := make(chan error, 1)
	go func() { stored <- e.Blobs().Put(ctx, "before/large", bytes.NewReader(make([]byte, 40<<20))) }()
	e2e.Until(t, "the disk is called full", func() bool { return s.Health() != nil })
	cancel()
	<-stored
	e2e.Must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=200m"))
	e2e.Until(t, "the server is well", func() bool { return s.Health() == nil && e.nc.IsConnected() && s.Engine().nc.IsConnected() })
	work(t, e, queue.Worker{Slots: 1}, parts(e, 3, nothing))
	submit(t, e, queue.Job{ID: "after"}, false)
	awaitDone(t, e, "after")
	e2e.Must(t, e.Blobs().Put(t.Context(), "before/small", bytes.NewReader(make([]byte, 5<<20))))
	await(t, s.Engine(), "before", "there", func(queue.Status) bool { return true })
}

// After a failed write a stream accepts no more messages, and its watchers miss the last ones. The
// failure is reported at once, since a batch would wait for ever.
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
