package fleet

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// A worker outside its hours takes no part, and the list and the page show until when. A limited
// one keeps its processes to its cores, memory and devices, and the outputs stay the same.
func TestHoursAndLimits(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	in, out := clips(t), filepath.Join(t.TempDir(), "out")
	hour := func(n int) string { return time.Now().Add(time.Duration(n) * time.Hour).Format("15:04") }
	asleep := s.worker(t.TempDir(), "--hours", hour(2)+"-"+hour(3))
	limited := s.worker(t.TempDir(), "--cores", "1", "--memory", "1GB", "--device", "cpu", "--hours", hour(-2)+"-"+hour(2))
	b := s.batch(in, out)
	child := limited.caught("--part=")
	e2e.Contains(t, run(t, append([]string{"jobs"}, s.link()...)...).exit(0), "takes no tasks: it waits until "+hour(2))
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

// A batch outside its hours begins nothing and shows until when; it can be interrupted.
func TestBatchHours(t *testing.T) {
	e2e.Start(t, false)
	out := filepath.Join(t.TempDir(), "out")
	hour := func(n int) string { return time.Now().Add(time.Duration(n) * time.Hour).Format("15:04") }
	b := run(t, "batch", clips(t), "-o", out, "--progress", "plain", "--hours", hour(2)+"-"+hour(3))
	b.Says("it waits until " + hour(2))
	b.Until("the reason", func() bool {
		return strings.Contains(run(t, "jobs", out).exit(0), "queued    long.mp4  the worker")
	})
	b.Signal(syscall.SIGINT)
	b.exit(130)
	if done, err := outputs(out); err != nil || len(done) > 0 {
		t.Errorf("outside its hours: %v, %v", done, err)
	}
}
