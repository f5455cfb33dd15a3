package fleettest_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lease is how long a worker may be silent in tests that wait for it.
const lease = "2s"

// A worker that is killed takes what it runs with it; another goes on, and cleans up behind it.
func TestWorkerKilled(t *testing.T) {
	start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	victim := s.worker(dir)
	b := s.batch(in, out)
	child := victim.caught("--part=")
	victim.kill()
	eventually(t, "what the worker ran is dead", func() bool { return !alive(child) })
	other := s.worker(dir)
	b.exit(0)
	whole(t, out)
	storeIsEmpty(t, s.engine())
	other.signal(syscall.SIGTERM)
	other.exit(0)
	noFolders(t, dir)
}

// The server is killed while a worker is in the middle of a part, and comes back: worker and batch have waited for it.
func TestServerKilled(t *testing.T) {
	start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir)
	b := s.batch(in, out)
	for _, args := range [][]string{nil, {"--lease", "3s"}} { // which can be changed
		child := w.caught("--part=")
		s.kill()
		_ = syscall.Kill(child, syscall.SIGCONT)
		time.Sleep(300 * time.Millisecond)
		s = s.again(args...)
	}
	b.exit(0)
	whole(t, out)
	storeIsEmpty(t, s.engine())
	if !strings.Contains(w.said(), "the connection is back") {
		t.Errorf("the worker says nothing of it: %s", w.said())
	}
	w.signal(syscall.SIGTERM)
	w.exit(0)
	noFolders(t, dir)
}

// The batch that plans, cuts and joins is killed, and run again goes on with the parts that are finished.
func TestBatchKilled(t *testing.T) {
	start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir)
	first := s.batch(in, out)
	w.says("long.mp4 part-0000: done")
	first.kill()
	second := s.batch(in, out)
	child := second.caught("--join")
	second.kill()
	eventually(t, "what the batch ran is dead", func() bool { return !alive(child) })
	s.batch(in, out).exit(0)
	whole(t, out)
	storeIsEmpty(t, s.engine())
	if n := strings.Count(w.said(), "long.mp4 part-0000: done"); n != 1 {
		t.Errorf("part 0 was done %d times: %s", n, w.said())
	}
}

// A worker that was frozen for longer than the lease comes back when all is over: what it has made counts for nothing, and goes.
func TestWorkerFrozen(t *testing.T) {
	start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	frozen := s.worker(dir)
	b := s.batch(in, out)
	child := frozen.caught("--part=")
	frozen.signal(syscall.SIGSTOP)
	_ = syscall.Kill(child, syscall.SIGCONT) // it finishes its part, and is not heard
	b.exit(0)
	whole(t, out)
	eventually(t, "the frozen worker's part is done", func() bool { return !alive(child) })
	frozen.signal(syscall.SIGCONT)
	frozen.says("another worker has done")
	storeIsEmpty(t, s.engine())
	whole(t, out)
	jobs(t, s).named(t, "long.mp4", "done")
	frozen.signal(syscall.SIGTERM)
	frozen.exit(0)
	noFolders(t, dir)
}

// A worker that is told to end does so at once, and its part goes to another without the wait for a dead one.
func TestWorkerTerminated(t *testing.T) {
	start(t, true)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0") // 30 s
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir)
	b := s.batch(in, out)
	child := w.caught("--part=")
	begun := time.Now()
	w.signal(syscall.SIGTERM)
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
	whole(t, out)
	storeIsEmpty(t, s.engine())
}
