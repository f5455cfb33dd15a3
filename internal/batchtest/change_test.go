package batchtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A source that is rewritten or replaced while it is filtered gives the output of what it is at last.
func TestSourceChanges(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string, data []byte){
		"rewritten": put,
		"replaced": func(t *testing.T, path string, data []byte) {
			put(t, path+".new", data)
			must(t, os.Rename(path+".new", path))
		},
		"grows": func(t *testing.T, path string, data []byte) {
			f, err := os.Create(path)
			must(t, err)
			for rest := data; len(rest) > 0; time.Sleep(100 * time.Millisecond) {
				n := min(len(rest), len(data)/8+1)
				_, err := f.Write(rest[:n])
				must(t, err)
				rest = rest[n:]
			}
			must(t, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, name == "replaced")
			last := folder(t, "x.mkv=b.mkv")
			alone := filepath.Join(t.TempDir(), "alone")
			run(t, 0, last, "-o", alone)
			in := folder(t, "x.mkv=long.mp4", "short.mp4")
			path, out := filepath.Join(in, "x.mkv"), filepath.Join(t.TempDir(), "out")
			stop := guard(t, out, contents(t, alone))
			b := begin(t, job(in, "-o", out)...)
			b.until("a finished part", func() bool { return finishedParts(out) > 0 })
			change(t, path, read(t, clip(t, "b.mkv")))
			contains(t, b.end(0), "the source changed meanwhile", "2 done")
			stop()
			must(t, os.Remove(filepath.Join(out, "short.mp4")))
			same(t, out, contents(t, alone))
			tidy(t, out)
		})
	}
}

// A file that is still being written when the batch comes to it is done when it is whole.
func TestSourceIsWritten(t *testing.T) {
	start(t, false)
	alone := filepath.Join(t.TempDir(), "alone")
	run(t, 0, folder(t, "b.mkv"), "-o", alone)
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	data := read(t, clip(t, "b.mkv"))
	path := filepath.Join(in, "b.mkv")
	put(t, path, data[:len(data)/3])
	b := begin(t, job(in, "-o", out)...)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	for rest := data[len(data)/3:]; len(rest) > 0; time.Sleep(50 * time.Millisecond) {
		n := min(len(rest), len(data)/20)
		_, err := f.Write(rest[:n])
		must(t, err)
		rest = rest[n:]
	}
	must(t, f.Close())
	b.end(0)
	must(t, os.Remove(filepath.Join(out, "short.mp4")))
	same(t, out, contents(t, alone))
}

// A source that goes away is tried again, and is done if it comes back; else that is the reason.
func TestSourceGone(t *testing.T) {
	start(t, false)
	in, out := folder(t, "a.mp4", "b.mkv"), filepath.Join(t.TempDir(), "out")
	alone, told := filepath.Join(t.TempDir(), "alone"), filepath.Join(t.TempDir(), "r.json")
	run(t, 0, in, "-o", alone)
	away := filepath.Join(t.TempDir(), "away.mp4")
	b := begin(t, job(in, "-o", out, "--report", told, "--retries", "2")...)
	b.child("--part")
	must(t, os.Rename(filepath.Join(in, "a.mp4"), away))
	b.says("tried again: a.mp4")
	must(t, os.Rename(away, filepath.Join(in, "a.mp4")))
	b.end(0)
	same(t, out, contents(t, alone))
	tidy(t, out)

	must(t, os.RemoveAll(out))
	b = begin(t, job(in, "-o", out, "--report", told, "--retries", "1")...)
	b.child("--part")
	must(t, os.Rename(filepath.Join(in, "a.mp4"), away))
	b.end(1)
	_, rows := readReport(t, told)
	if a := rows["a.mp4"]; a.State != "failed" || !strings.Contains(a.Reason, "no such file") || a.Attempts != 2 {
		t.Errorf("%+v", a)
	}
	if b := rows["b.mkv"]; b.State != "done" {
		t.Errorf("the other: %+v", b)
	}
	must(t, os.Rename(away, filepath.Join(in, "a.mp4")))
	run(t, 0, in, "-o", out, "--retry-failed")
	same(t, out, contents(t, alone))
	tidy(t, out)
}
