package jetstream

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// A server reports a full disk, and recovers when there is room, without a restart of the
// process.
func TestDiskFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "disk")
	e2e.Must(t, os.Mkdir(dir, 0o777))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("this user may not mount a small disk: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := served(t, ServeOptions{Dir: filepath.Join(dir, "state")})
	e := connect(t, s.url(), s.Creds(pki.Submitter))
	submit(t, e, queue.Job{ID: "before", Site: "nowhere"}, false)
	e2e.Must(t, s.Health())
	// Another program fills it while the queue writes nothing.
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
	waitFor(t, "the disk is called full", func() bool { return s.Health() != nil })
	cancel()
	<-stored
	e2e.Must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=200m"))
	waitFor(t, "the server is well", func() bool { return s.Health() == nil && e.nc.IsConnected() && s.Engine().nc.IsConnected() })
	work(t, e, queue.Worker{Slots: 1}, parts(e, 3, nothing))
	submit(t, e, queue.Job{ID: "after"}, false)
	if st := awaitEnd(t, e, "after"); st.State != queue.Done {
		t.Errorf("%+v", st)
	}
	if err := e.Blobs().Put(t.Context(), "before/small", bytes.NewReader(make([]byte, 5<<20))); err != nil {
		t.Error(err)
	}
	await(t, s.Engine(), "before", "there", func(queue.Status) bool { return true })
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("waited in vain: " + what)
		}
	}
}
