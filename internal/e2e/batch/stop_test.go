package batch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// An interrupted batch prints how to continue, and continues.
func TestInterrupted(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(s.String(), func(t *testing.T) {
			e2e.Start(t, true)
			in, out := folder(t, "a.mp4", "b.mkv"), filepath.Join(t.TempDir(), "out")
			intact := untouched(t, in)
			want := undisturbed(t, in)
			b := begin(t, job(in, "-o", out, "--progress", "json")...)
			b.Says(`"task":"part-0002"`)
			b.Signal(s)
			e2e.Contains(t, b.end(code), "the same command goes on where this one stopped")
			leftovers, _ := filepath.Glob(filepath.Join(out, ".vidfilter/work/*/*.[0-9]*-*"))
			// finished
			leftovers = slices.DeleteFunc(leftovers, func(name string) bool { return strings.HasSuffix(name, ".mp4") })
			if len(leftovers) > 0 || finishedParts(out) == 0 {
				t.Errorf("left by halves: %v; finished parts: %d", leftovers, finishedParts(out))
			}
			again := begin(t, job(in, "-o", out, "--progress", "json")...)
			again.end(0)
			k, done := &killing{t: t, struck: map[string]int{}}, map[string]int{}
			k.goneOn(b, done)
			k.goneOn(again, done)
			same(t, out, want)
			intact()
		})
	}
}

// A batch that waits for another can be interrupted.
func TestInterruptedWaiting(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "long.mp4"), filepath.Join(t.TempDir(), "out")
	first := begin(t, job(in, "-o", out)...)
	first.Says("started")
	second := begin(t, job(in, "-o", out)...)
	second.Says("waiting for it")
	second.Signal(os.Interrupt)
	second.end(130)
	first.kill()
}

// A stalled child is ended and its task repeated, whether it filters or looks for cuts.
func TestStalled(t *testing.T) {
	for name, word := range map[string]string{"part": "--part=", "join": "--join\x00", "whole": "--duration=", "plan": "\x00segments\x00"} {
		t.Run(name, func(t *testing.T) {
			if name == "join" || name == "whole" {
				patient(t)
			}
			e2e.Start(t, name == "part")
			in, out := folder(t, "a.mp4"), filepath.Join(t.TempDir(), "out")
			args := []string{in, "--stall-timeout", "1s"}
			if name == "whole" { // is filtered whole
				args = append(args, "--duration", "3")
			}
			want := undisturbed(t, args...)
			b := begin(t, job(append(args, "-o", out)...)...)
			stop(b.child(word))
			said := b.end(0)
			e2e.Contains(t, said, "tried again: a.mp4", "1 done")
			same(t, out, want)
		})
	}
}

func stop(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) }

// A job that stalls each time fails with that reason, and the others finish.
func TestStalledForGood(t *testing.T) {
	e2e.Start(t, false)
	in, out, told := folder(t, "a.mp4", "short.mp4"), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "r.json")
	b := begin(t, job(in, "-o", out, "--stall-timeout", "1s", "--retries", "0", "--report", told)...)
	stop(b.child("--part"))
	b.end(1)
	_, rows := readReport(t, told)
	if a := rows["a.mp4"]; a.State != "failed" || !strings.Contains(a.Reason, "no progress for 1s") {
		t.Errorf("%+v", a)
	}
	if rows["short.mp4"].State != "done" {
		t.Errorf("%+v", rows)
	}
	if n := b.processes(); len(n) > 0 {
		t.Errorf("left: %v", n)
	}
	e2e.Contains(t, run(t, 0, in, "-o", out, "--retry-failed"), "1 done", "1 skipped")
	tidy(t, out)
}

// A file that kills its processes costs three of them, or some more if each dies at another part,
// is quarantined, and is tried again when asked for.
func TestPoisoned(t *testing.T) {
	e2e.Start(t, false)
	in, out, told := folder(t, "a.mp4", "short.mp4"), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "r.json")
	b := begin(t, slow(in, "-o", out, "--segment", "0", "--retries", "20", "--jobs", "1", "--report", told)...)
	killed := map[int]bool{}
	b.Until("the file is quarantined", func() bool {
		for _, pid := range b.processes() {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(line, []byte("a.mp4")) && !killed[pid] {
				killed[pid] = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return strings.Contains(b.Err.String(), "quarantined: a.mp4")
	})
	b.end(1)
	if n := len(killed); n < 3 || n > 8 {
		t.Errorf("%d processes died", n)
	}
	const why = " processes died at it, at last: the process was killed by signal 9 (killed)"
	if _, rows := readReport(t, told); rows["a.mp4"].State != "failed" || !strings.HasPrefix(rows["a.mp4"].Reason, "quarantined: ") ||
		!strings.HasSuffix(rows["a.mp4"].Reason, why) || rows["short.mp4"].State != "done" {
		t.Errorf("%+v", rows)
	}
	e2e.Contains(t, printed(t, "jobs", out, "--state", "quarantined"), "quarantined a.mp4", why, "1 job: 1 quarantined")
	e2e.Contains(t, begin(t, slow(in, "-o", out, "--segment", "0")...).end(1), "1 skipped", "--retry-failed tries it again")
	e2e.Contains(t, begin(t, slow(in, "-o", out, "--segment", "0", "--retry-failed")...).end(0), "1 done", "1 skipped")
	tidy(t, out)
}

// Files that appear in a watched folder are filtered once they are whole.
func TestWatch(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	told := filepath.Join(t.TempDir(), "r.json")
	want := undisturbed(t, folder(t, "short.mp4", "sub/b.mkv=b.mkv", "c.mov"))
	halt := guard(t, out, want)
	b := begin(t, job("--watch", in, "-o", out, "--settle", "600ms", "--report", told)...)
	b.Says("watching")
	arrived := func(name string) func() bool { return func() bool { return e2e.Exists(filepath.Join(out, name)) } }
	b.Until("the file that was there", arrived("short.mp4"))

	e2e.Must(t, os.Mkdir(filepath.Join(in, "sub"), 0o777))
	slowly(t, filepath.Join(in, "sub/b.mkv"), e2e.Read(t, clip(t, "b.mkv")))
	if e2e.Exists(filepath.Join(out, "sub/b.mkv")) {
		t.Error("taken before it had come to rest")
	}
	slowly(t, filepath.Join(in, "c.mov.part"), e2e.Read(t, clip(t, "c.mov")))
	e2e.Must(t, os.Rename(filepath.Join(in, "c.mov.part"), filepath.Join(in, "c.mov")))
	b.Until("b.mkv", arrived("sub/b.mkv"))
	b.Until("c.mov", arrived("c.mov"))
	b.Until("both done", func() bool { return strings.Count(b.Err.String(), "done: ") == 3 })
	b.Signal(os.Interrupt)
	said := b.end(130)
	halt()
	lacks(t, said, "tried again", "changed meanwhile", "failed")
	same(t, out, want)
	_, rows := readReport(t, told)
	for name := range want {
		if rows[name].State != "done" || rows[name].Attempts != 1 {
			t.Errorf("%s: %+v", name, rows[name])
		}
	}
	tidy(t, out)
}

// slowly writes a file in pieces, with pauses shorter than --settle.
func slowly(t *testing.T, name string, data []byte) {
	t.Helper()
	f, err := os.Create(name)
	e2e.Must(t, err)
	defer f.Close()
	e2e.WriteSlowly(t, f, data, 8, 150*time.Millisecond)
}

// A watched file that is replaced is filtered again.
func TestWatchReplaced(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "x.mp4=short.mp4"), filepath.Join(t.TempDir(), "out")
	want := undisturbed(t, folder(t, "x.mp4=a.mp4"))
	b := begin(t, job("--watch", in, "-o", out, "--settle", "300ms")...)
	done := func(n int) func() bool {
		return func() bool { return strings.Count(b.Err.String(), "done: x.mp4") == n }
	}
	b.Until("the first", done(1))
	e2e.Put(t, filepath.Join(in, "x.mp4"), e2e.Read(t, clip(t, "a.mp4")))
	b.Until("the second", done(2))
	b.Signal(os.Interrupt)
	b.end(130)
	same(t, out, want)
}

// Another run does not do the queued jobs of a killed run unless asked for them.
func TestOthersLeftAlone(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "long.mp4", "short.mp4", "a.mp4"), filepath.Join(t.TempDir(), "out")
	b := begin(t, job(filepath.Join(in, "long.mp4"), filepath.Join(in, "a.mp4"), "-o", out)...)
	b.Until("a finished part", func() bool { return finishedParts(out) > 0 })
	b.kill()
	n := finishedParts(out)
	again := begin(t, job(filepath.Join(in, "short.mp4"), "-o", out, "--progress", "json")...)
	again.end(0)
	if got := contents(t, out); len(got) != 1 || finishedParts(out) > n {
		t.Errorf("outputs %v, parts %d, were %d", got, finishedParts(out), n)
	}
	b = begin(t, job(in, "-o", out)...)
	e2e.Contains(t, b.end(0), "2 done, 1 skipped")
	if all := fmt.Sprint(len(contents(t, out))); all != "3" {
		t.Errorf("%s outputs", all)
	}
	tidy(t, out)
}

// Of two batches over one folder, the second waits and then finds everything done.
func TestTwoBatches(t *testing.T) {
	e2e.Start(t, true)
	in := folder(t, "a.mp4", "b.mkv")
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	first := begin(t, job(in, "-o", out, "--report", filepath.Join(dir, "1.json"))...)
	first.Says("started: a.mp4")
	second := begin(t, job(in, "-o", out, "--report", filepath.Join(dir, "2.json"))...)
	second.Says("waiting for it")
	first.end(0)
	done := files(t, out)
	e2e.Contains(t, second.end(0), "another batch is at work", "2 skipped")
	for name, s := range files(t, out) {
		if done[name] != s {
			t.Errorf("%s was made twice", name)
		}
	}
	_, one := readReport(t, filepath.Join(dir, "1.json"))
	_, two := readReport(t, filepath.Join(dir, "2.json"))
	for _, name := range []string{"a.mp4", "b.mkv"} {
		if one[name].State != "done" || two[name].State != "skipped" {
			t.Errorf("%s: %+v, %+v", name, one[name], two[name])
		}
	}
	tidy(t, out)
}

// If the first is killed, the second resumes its work.
func TestTakeOver(t *testing.T) {
	e2e.Start(t, true)
	in := folder(t, "a.mp4", "b.mkv")
	want := undisturbed(t, in)
	out := filepath.Join(t.TempDir(), "out")
	stop := guard(t, out, want)
	first := begin(t, job(in, "-o", out, "--progress", "json")...)
	first.Says(`"task":"part-0001"`)
	second := begin(t, job(in, "-o", out, "--progress", "json")...)
	second.Says("waiting for it")
	first.kill()
	second.end(0)
	stop()
	k := &killing{t: t, struck: map[string]int{}}
	done := map[string]int{}
	k.goneOn(first, done)
	k.goneOn(second, done)
	same(t, out, want)
	records(t, out, 2)
}
