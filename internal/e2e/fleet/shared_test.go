package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// disk is a folder mounted on two machines under different paths.
func disk(t *testing.T) (here, there string) {
	t.Helper()
	here, there = filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "there")
	e2e.Must(t, os.Mkdir(here, 0o777))
	e2e.Must(t, os.CopyFS(filepath.Join(here, "tapes"), os.DirFS(madeClips(t))))
	e2e.Must(t, os.Symlink(here, there))
	return here, there
}

func storeStaysEmpty(t *testing.T, s *server) {
	t.Helper()
	if names, err := s.engine().Blobs().List(context.Background(), ""); err != nil || len(names) > 0 {
		t.Errorf("in the store: %q, %v", names, err)
	}
}

// With a shared folder only names are sent, and it may be mounted anywhere. Workers finish the
// jobs of a batch that dies.
func TestShared(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	here, there := disk(t)
	dir := t.TempDir()
	w := s.worker(dir, "--shared", there, "--creds", s.Submitter)
	out := filepath.Join(here, "out")
	b := s.batch(filepath.Join(here, "tapes"), out, "--shared", here)
	child := w.caught("--part=")
	storeStaysEmpty(t, s)
	e2e.Until(t, "both are in the queue", func() bool { return len(jobs(t, s).Jobs) == 2 })
	b.Kill()
	_ = syscall.Kill(child, syscall.SIGCONT)
	w.Says("long.mp4 join: done")
	w.Says("other.mov join: done")
	whole(t, out)
	e2e.Contains(t, s.batch(filepath.Join(here, "tapes"), out, "--shared", here).exit(0), "2 skipped")
	whole(t, out)
	storeStaysEmpty(t, s)
	// It also takes parts of batches whose folders it does not have.
	in, own := clips(t), filepath.Join(t.TempDir(), "own")
	s.batch(in, own).exit(0)
	whole(t, own)
	e2e.Contains(t, w.Said(), "part-0001: done")
	storeIsEmpty(t, s.engine())
	w.ended(dir)
}

// A worker frozen while writing the output wakes when another has made it.
func TestSharedFrozen(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	here, there := disk(t)
	out := filepath.Join(here, "out")
	w := s.worker(t.TempDir(), "--shared", there, "--creds", s.Submitter)
	b := s.batch(filepath.Join(here, "tapes"), out, "--shared", here, "--segment", "0")
	child := w.caught("tapes")
	w.Signal(syscall.SIGSTOP)
	_ = syscall.Kill(child, syscall.SIGCONT)
	b.exit(0)
	same(t, out)
	w.Signal(syscall.SIGCONT)
	w.Says("another worker has done")
	e2e.Until(t, "the frozen worker's child is done", func() bool { return !alive(child) })
	w.Signal(syscall.SIGTERM)
	w.exit(0)
	same(t, out)
	e2e.Contains(t, s.batch(filepath.Join(here, "tapes"), out, "--shared", here, "--segment", "0").exit(0), "2 skipped")
}

// same checks that the folder holds just the two outputs, finished. They are filtered whole, so
// their bytes differ from joined parts.
func same(t *testing.T, out string) {
	t.Helper()
	got, err := outputs(out)
	if err != nil || len(got) != 2 {
		t.Errorf("outputs: %v, %v", got, err)
	}
	isEmpty(t, filepath.Join(out, ".vidfilter", "work"))
}

// Files that workers cannot reach are refused before any work.
func TestSharedOutside(t *testing.T) {
	e2e.Start(t, true)
	here, there := disk(t)
	for _, args := range [][]string{
		{"batch", filepath.Join(there, "tapes"), "-o", filepath.Join(here, "out")},
		{"batch", filepath.Join(here, "tapes"), "-o", filepath.Join(there, "out")},
	} {
		said := run(t, append(args, "--server", "tls://127.0.0.1:1", "--shared", here)...).exit(2)
		e2e.Contains(t, said, "is not below --shared")
	}
}

// A worker outside its hours takes no part, and the list and the page show until when. A limited
// one keeps its processes to its cores, memory and devices, and the outputs stay the same.
func TestHoursAndLimits(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	in, out, now := clips(t), filepath.Join(t.TempDir(), "out"), time.Now()
	hour := func(n int) string { return now.Add(time.Duration(n) * time.Hour).Format("15:04") }
	asleep := s.worker(t.TempDir(), "--hours", hour(2)+"-"+hour(3))
	limited := s.worker(t.TempDir(), "--cores", "1", "--memory", "1GB", "--device", "cpu", "--hours", hour(-2)+"-"+hour(2))
	b := s.batch(in, out)
	child := limited.caught("--part=")
	e2e.Contains(t, run(t, append([]string{"jobs"}, s.link()...)...).exit(0), "takes no tasks: it waits until "+inTwoHours(now))
	_, workers := s.fetch("api/workers")
	e2e.Contains(t, workers, `"held":"it waits until `)
	_, rest, _ := strings.Cut(string(e2e.Read(t, fmt.Sprintf("/proc/%d/status", child))), "Cpus_allowed_list:\t")
	if cores, _, _ := strings.Cut(rest, "\n"); cores == "" || strings.ContainsAny(cores, ",-") {
		t.Errorf("its process may use the cores %s", cores)
	}
	environ := string(e2e.Read(t, fmt.Sprintf("/proc/%d/environ", child)))
	e2e.Contains(t, environ, "CUDA_VISIBLE_DEVICES=-1", "VIDFILTER_SHARERS_MEMORY=1000000000")
	e2e.Must(t, syscall.Kill(child, syscall.SIGCONT))
	b.exit(0)
	whole(t, out)
	if strings.Contains(asleep.Said(), "done in") || !strings.Contains(limited.Said(), "done in") {
		t.Errorf("outside its hours: %s; within: %s", asleep.Said(), limited.Said())
	}
}

// inTwoHours is how the program shows that time: with the day if it is another.
func inTwoHours(now time.Time) string {
	then := now.Add(2 * time.Hour)
	if then.Day() != now.Day() {
		return strings.ToLower(then.Format("Mon 15:04"))
	}
	return then.Format("15:04")
}

// A batch outside its hours starts no job, shows when they begin, and can be interrupted.
func TestBatchHours(t *testing.T) {
	e2e.Start(t, false)
	out, now := filepath.Join(t.TempDir(), "out"), time.Now()
	hour := func(n int) string { return now.Add(time.Duration(n) * time.Hour).Format("15:04") }
	b := run(t, "batch", clips(t), "-o", out, "--progress", "plain", "--hours", hour(2)+"-"+hour(3))
	b.Says("it waits until " + inTwoHours(now))
	b.Until("the reason", func() bool {
		return strings.Contains(run(t, "jobs", out).exit(0), "queued    long.mp4  the worker")
	})
	b.Signal(syscall.SIGINT)
	b.exit(130)
	if done, err := outputs(out); err != nil || len(done) > 0 {
		t.Errorf("outside its hours: %v, %v", done, err)
	}
}
