package batchtest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// disk is a small file system of its own, or the test is skipped: to mount one is not for everybody.
func disk(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(dir, 0o777))
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("this user may not mount a small disk: %v", err)
	}
	must(t, err)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes room until so much is left, and returns the file that does.
func fill(t *testing.T, dir string, leave int64) string {
	t.Helper()
	var s syscall.Statfs_t
	must(t, syscall.Statfs(dir, &s))
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	must(t, err)
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
	must(t, err)
	return name
}

// The batch pauses, its processes too, before the disk is full, says so, and goes on when there is room.
func TestMinFree(t *testing.T) {
	start(t, true)
	in, alone := folder(t, "a.mp4", "long.mp4"), filepath.Join(t.TempDir(), "alone")
	begin(t, slow(in, "-o", alone)...).end(0)
	root := disk(t, "64m")
	out := filepath.Join(root, "out")
	b := begin(t, slow(in, "-o", out, "--min-free", "20MB", "--stall-timeout", "1s")...)
	b.until("a finished part", func() bool { return finishedParts(out) > 0 })
	ballast := fill(t, root, 10e6)
	b.says("paused: 9.")
	was := finishedParts(out) + outputs(out)
	time.Sleep(1500 * time.Millisecond)
	if now := finishedParts(out) + outputs(out); now > was+1 { // one may have been at its end
		t.Errorf("%d files were finished in the pause", now-was)
	}
	l := begin(t, "jobs", out)
	l.end(0)
	contains(t, l.out.String(), "paused: ")
	must(t, os.Remove(ballast))
	said := b.end(0)
	lacks(t, said, "tried again")
	same(t, out, contents(t, alone))
	tidy(t, out)
}

// A batch that begins on a disk that is too full waits.
func TestMinFreeAtOnce(t *testing.T) {
	start(t, false)
	in, root := folder(t, "short.mp4"), disk(t, "64m")
	ballast := fill(t, root, 10e6)
	out := filepath.Join(root, "out")
	b := begin(t, job(in, "-o", out, "--min-free", "20MB")...)
	b.says("paused: ")
	time.Sleep(500 * time.Millisecond)
	if n := outputs(out); n > 0 {
		t.Errorf("%d outputs in the pause", n)
	}
	must(t, os.Remove(ballast))
	b.end(0)
	playable(t, filepath.Join(out, "short.mp4"))
}

// A disk that is full in the middle loses nothing: when there is room, the same command does the rest.
func TestDiskFull(t *testing.T) {
	start(t, true)
	in, alone := folder(t, "a.mp4", "long.mp4", "short.mp4"), filepath.Join(t.TempDir(), "alone")
	intact := untouched(t, in)
	begin(t, slow(in, "-o", alone)...).end(0)
	root := disk(t, "48m")
	out := filepath.Join(root, "out")
	stop := guard(t, out, contents(t, alone))
	b := begin(t, slow(in, "-o", out, "--min-free", "0")...)
	b.until("an output", func() bool { return exists(filepath.Join(out, "a.mp4")) && finishedParts(out) > 1 })
	ballast := fill(t, root, 0)
	b.says("no space left")
	time.Sleep(time.Second) // for more to fail
	must(t, os.Remove(ballast))
	select {
	case <-b.done:
	case <-time.After(90 * time.Second):
		t.Fatalf("it hangs:\n%s", b.err.String())
	}
	b.wait(func(code int) bool { return code == 0 || code == 4 }) // the queue may not recover: then it says so, and ends
	stop()
	begin(t, slow(in, "-o", out)...).end(0)
	same(t, out, contents(t, alone))
	tidy(t, out)
	intact()
}

// A program that finds the disk full is no failure: its job waits for room, and no try of it is counted.
func TestDiskFullForChild(t *testing.T) {
	patient(t)
	start(t, false)
	in, alone, told := folder(t, "long.mp4"), filepath.Join(t.TempDir(), "alone"), filepath.Join(t.TempDir(), "r.json")
	begin(t, slow(in, "-o", alone, "--segment", "0")...).end(0)
	root := disk(t, "48m")
	out := filepath.Join(root, "out")
	b := begin(t, slow(in, "-o", out, "--min-free", "0", "--retries", "0", "--segment", "0", "--report", told)...)
	pid := b.child("--progress")
	ballast := fill(t, root, 500e3)
	b.until("the end of the child", func() bool { return !exists(fmt.Sprintf("/proc/%d", pid)) })
	must(t, os.Remove(ballast))
	b.end(0)
	if _, rows := readReport(t, told); rows["long.mp4"].Attempts != 1 {
		t.Errorf("%+v", rows)
	}
	same(t, out, contents(t, alone))
	tidy(t, out)
}

// A disk that is full at the beginning is an error with a reason, and nothing is left behind.
func TestDiskFullAtOnce(t *testing.T) {
	start(t, false)
	in, root := folder(t, "short.mp4"), disk(t, "32m")
	ballast := fill(t, root, 0)
	out := filepath.Join(root, "out")
	b := begin(t, job(in, "-o", out, "--min-free", "0", "--retries", "0")...)
	said := b.end(4)
	contains(t, said, "no space left")
	must(t, os.Remove(ballast))
	run(t, 0, in, "-o", out)
	tidy(t, out)
}

// slow is job with a filter that takes some seconds.
func slow(args ...string) []string { return append(job(args...), "-r", "13") }
