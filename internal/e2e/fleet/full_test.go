package fleet

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
)

// fetch returns the code and the text of a path of the status page.
func (s *server) fetch(path string) (int, string) {
	s.t.Helper()
	r := must(http.Get(s.Status + path))
	defer r.Body.Close()
	return r.StatusCode, string(must(io.ReadAll(r.Body)))
}

// A full disk under serve shows in /healthz and the metrics, not in /livez, and once it has room
// all go on by themselves.
func TestDiskFull(t *testing.T) {
	e2e.Start(t, false)
	disk := e2e.NeedsDisk(t, "64m")
	s := serve(t, filepath.Join(disk, "state"), "127.0.0.1:0")
	in, out := clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(t.TempDir())
	ballast := filepath.Join(disk, "ballast")
	var st syscall.Statfs_t
	e2e.Must(t, syscall.Statfs(disk, &st))
	f, err := os.Create(ballast)
	e2e.Must(t, err)
	e2e.Must(t, syscall.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize-300<<10))
	e2e.Must(t, f.Close())
	b := s.batch(in, out)
	e2e.Until(t, "the queue is called unwell", func() bool {
		code, said := s.fetch("healthz")
		return code == http.StatusServiceUnavailable && strings.Contains(said, "is full")
	})
	if code, said := s.fetch("livez"); code != http.StatusOK {
		t.Errorf("the process: %d %s", code, said)
	}
	if _, metrics := s.fetch("metrics"); !strings.Contains(metrics, "vidfilter_queue_up 0") || !strings.Contains(metrics, "vidfilter_store_limit_bytes ") {
		t.Errorf("the metrics: %s", metrics)
	}
	e2e.Must(t, os.Remove(ballast))
	e2e.Until(t, "the queue is well", func() bool {
		code, _ := s.fetch("healthz")
		return code == http.StatusOK
	})
	b.exit(0)
	whole(t, out)
	if _, metrics := s.fetch("metrics"); !strings.Contains(metrics, "vidfilter_queue_up 1") {
		t.Errorf("the metrics: %s", metrics)
	}
	w.Signal(syscall.SIGTERM)
	w.exit(0)
}
