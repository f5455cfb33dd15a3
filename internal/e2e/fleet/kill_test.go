package fleet

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// lease is the silence after which a worker counts as dead, in tests that wait for it.
const lease = "2s"

// A killed worker's child dies with it; another worker continues and removes its files.
func TestWorkerKilled(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	victim := s.worker(dir)
	b := s.batch(in, out)
	child := victim.caught("--part=")
	victim.Kill()
	e2e.Until(t, "what the worker ran is dead", func() bool { return !alive(child) })
	other := s.worker(dir)
	b.exit(0)
	s.delivered(out)
	other.ended(dir)
}

// Worker and batch wait for a server that is killed in the middle of a part and restarted.
func TestServerKilled(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir)
	b := s.batch(in, out)
	for i, args := range [][]string{nil, {"--lease", "3s"}} { // which can be changed
		child := w.caught("--part=")
		s.Kill()
		_ = syscall.Kill(child, syscall.SIGCONT)
		w.Until("word that the server is gone", func() bool { return strings.Count(w.Said(), "the connection is lost") == i+1 })
		s = s.again(args...)
		w.Until("word that it is back", func() bool { return strings.Count(w.Said(), "the connection is back") == i+1 })
	}
	b.exit(0)
	s.delivered(out)
	w.ended(dir)
}

// A killed batch, run again, continues with the finished parts.
func TestBatchKilled(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir)
	first := s.batch(in, out)
	w.Says("long.mp4 part-0000: done")
	first.Kill()
	second := s.batch(in, out)
	child := second.caught("--join")
	second.Kill()
	e2e.Until(t, "what the batch ran is dead", func() bool { return !alive(child) })
	s.batch(in, out).exit(0)
	s.delivered(out)
	if n := strings.Count(w.Said(), "long.mp4 part-0000: done"); n != 1 {
		t.Errorf("part 0 was done %d times: %s", n, w.Said())
	}
}

// A worker frozen for longer than the lease wakes when all is done: its result is dropped and
// removed.
func TestWorkerFrozen(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	frozen := s.worker(dir)
	b := s.batch(in, out)
	child := frozen.caught("--part=")
	frozen.Signal(syscall.SIGSTOP)
	_ = syscall.Kill(child, syscall.SIGCONT) // it finishes its part too late
	b.exit(0)
	whole(t, out)
	if !alive(child) {
		t.Error("the part was finished without the worker, which gives it its name")
	}
	frozen.Signal(syscall.SIGCONT)
	frozen.Says("another worker has done")
	e2e.Until(t, "the frozen worker's part is done", func() bool { return !alive(child) })
	storeIsEmpty(t, s.engine())
	whole(t, out)
	jobs(t, s).named(t, "long.mp4", "done")
	frozen.ended(dir)
}

// A worker ends at once on SIGTERM, and its part goes to another without waiting for the lease.
func TestWorkerTerminated(t *testing.T) {
	e2e.Start(t, true)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0") // 30 s
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir)
	b := s.batch(in, out)
	child := w.caught("--part=")
	begun := time.Now()
	w.Signal(syscall.SIGTERM)
	w.exit(0)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it ended after %v", took)
	}
	if alive(child) {
		t.Error("what it ran lives on")
	}
	noFolders(t, dir)
	b.exit(0)
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("the batch ended after %v", took)
	}
	s.delivered(out)
}

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
