package batch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// fill writes a file until so much room is left, and returns its name.
func fill(t *testing.T, dir string, leave int64) string {
	t.Helper()
	var s syscall.Statfs_t
	e2e.Must(t, syscall.Statfs(dir, &s))
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	e2e.Must(t, err)
	defer f.Close()
	err = syscall.Fallocate(int(f.Fd()), 0, 0, int64(s.Bavail)*s.Bsize-leave)
	if leave == 0 { // others may be quicker
		for block := make([]byte, 4096); err == nil || errors.Is(err, syscall.ENOSPC) && len(block) > 1; block = block[:(len(block)+1)/2] {
			for err = nil; err == nil; {
				_, err = f.Write(block)
			}
		}
		err = nil
	}
	e2e.Must(t, err)
	return name
}

var roomy = []string{"a.mp4", "long.mp4", "short.mp4"}

// withRoom returns the outputs of a slow batch of the roomy clips on a disk with room. It runs
// once.
func withRoom(t *testing.T) map[string]string {
	t.Helper()
	in := folder(t, roomy...)
	return contents(t, e2e.Make(t, "with-room", func(out string) error {
		said, err := exec.Command(e2e.Program, slow(in, "-o", out)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	}))
}

// The batch and its children pause before the disk is full, and continue when there is room.
func TestMinFree(t *testing.T) {
	e2e.Start(t, true)
	in, want := folder(t, "a.mp4", "long.mp4"), withRoom(t)
	delete(want, "short.mp4")
	root := e2e.NeedsDisk(t, "64m")
	out := filepath.Join(root, "out")
	b := begin(t, slow(in, "-o", out, "--min-free", "20MB", "--stall-timeout", "3s")...)
	b.Until("a finished part", func() bool { return finishedParts(out) > 0 })
	ballast := fill(t, root, 9.5e6)
	b.Says("paused: ")
	was := finishedParts(out) + outputs(out)
	e2e.Stays(t, 3500*time.Millisecond, "nothing is finished in the pause", func() bool {
		return finishedParts(out)+outputs(out) <= was+1 // one may have been about to end
	})
	e2e.Contains(t, printed(t, "jobs", out), "paused: ")
	e2e.Must(t, os.Remove(ballast))
	said := b.end(0)
	lacks(t, said, "tried again")
	same(t, out, want)
}

// A batch started on a full disk waits.
func TestMinFreeAtOnce(t *testing.T) {
	e2e.Start(t, false)
	in, root := folder(t, "short.mp4"), e2e.NeedsDisk(t, "64m")
	ballast := fill(t, root, 10e6)
	out := filepath.Join(root, "out")
	b := begin(t, job(in, "-o", out, "--min-free", "20MB")...)
	b.Says("paused: ")
	e2e.Stays(t, 500*time.Millisecond, "there is no output in the pause", func() bool { return outputs(out) == 0 })
	e2e.Must(t, os.Remove(ballast))
	b.end(0)
	playable(t, filepath.Join(out, "short.mp4"))
}

// A batch whose disk fills up loses no work: the same command finishes it once there is room.
func TestDiskFull(t *testing.T) {
	e2e.Start(t, true)
	in, want := folder(t, roomy...), withRoom(t)
	intact := untouched(t, in)
	root := e2e.NeedsDisk(t, "48m")
	out := filepath.Join(root, "out")
	stop := guard(t, out, want)
	b := begin(t, slow(in, "-o", out, "--min-free", "0")...)
	b.Until("an output", func() bool { return e2e.Exists(filepath.Join(out, "a.mp4")) && finishedParts(out) > 1 })
	ballast := fill(t, root, 0)
	b.Says("no space left")
	// More may fail.
	e2e.Within(time.Second, func() bool { return strings.Count(b.Err.String(), "no space left") > 3 })
	e2e.Must(t, os.Remove(ballast))
	// The queue may not recover. The batch then reports that and ends.
	b.wait(func(code int) bool { return code == 0 || code == 4 })
	stop()
	begin(t, slow(in, "-o", out)...).end(0)
	same(t, out, want)
	intact()
}

// A child that finds the disk full does not fail its job, which waits for room without using up a
// retry.
func TestDiskFullForChild(t *testing.T) {
	patient(t)
	e2e.Start(t, false)
	in, told := folder(t, "long.mp4"), filepath.Join(t.TempDir(), "r.json")
	want := undisturbed(t, in, "--segment", "0", "-r", "13")
	root := e2e.NeedsDisk(t, "48m")
	out := filepath.Join(root, "out")
	b := begin(t, slow(in, "-o", out, "--min-free", "0", "--retries", "0", "--segment", "0", "--report", told)...)
	pid := b.child("--progress")
	ballast := fill(t, root, 500e3)
	b.Until("the end of the child", func() bool { return !e2e.Exists(fmt.Sprintf("/proc/%d", pid)) })
	e2e.Must(t, os.Remove(ballast))
	b.end(0)
	if _, rows := readReport(t, told); rows["long.mp4"].Attempts != 1 {
		t.Errorf("%+v", rows)
	}
	same(t, out, want)
}

// A batch that waits for room names the disk.
func TestDiskFullSaid(t *testing.T) {
	e2e.Start(t, true)
	in, root := folder(t, "long.mp4"), e2e.NeedsDisk(t, "24m")
	out := filepath.Join(root, "out")
	b := begin(t, slow(in, "-o", out, "--min-free", "0", "--retries", "0", "--segment", "0", "--progress", "plain", "--crf", "1")...)
	b.child("--progress")
	ballast := fill(t, root, 400e3)
	b.Says("waiting for room: the disk of " + out + " is full")
	e2e.Contains(t, printed(t, "jobs", out), "waiting for room")
	e2e.Must(t, os.Remove(ballast))
	// The queue may not recover. The batch then reports that and ends.
	b.wait(func(code int) bool { return code == 0 || code == 4 })
}

// A disk full from the start is an error with a reason and leaves no file.
func TestDiskFullAtOnce(t *testing.T) {
	e2e.Start(t, false)
	in, root := folder(t, "short.mp4"), e2e.NeedsDisk(t, "32m")
	ballast := fill(t, root, 0)
	out := filepath.Join(root, "out")
	b := begin(t, job(in, "-o", out, "--min-free", "0", "--retries", "0")...)
	said := b.end(4)
	e2e.Contains(t, said, "no space left")
	e2e.Must(t, os.Remove(ballast))
	run(t, 0, in, "-o", out)
	tidy(t, out)
}

// slow is job with a filter that takes seconds.
func slow(args ...string) []string { return append(job(args...), "-r", "13") }
