package batch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// A source rewritten or replaced while it is filtered gives the output of its last content.
func TestSourceChanges(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string, data []byte){
		"rewritten": func(t *testing.T, path string, data []byte) { e2e.Put(t, path, data) },
		"replaced": func(t *testing.T, path string, data []byte) {
			e2e.Put(t, path+".new", data)
			e2e.Must(t, os.Rename(path+".new", path))
		},
		"grows": func(t *testing.T, path string, data []byte) {
			f, err := os.Create(path)
			e2e.Must(t, err)
			e2e.WriteSlowly(t, f, data, 8, 100*time.Millisecond)
			e2e.Must(t, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			e2e.Start(t, name == "replaced")
			last := folder(t, "x.mkv=b.mkv")
			want := undisturbed(t, last)
			in := folder(t, "x.mkv=long.mp4", "short.mp4")
			path, out := filepath.Join(in, "x.mkv"), filepath.Join(t.TempDir(), "out")
			stop := guard(t, out, want)
			b := begin(t, job(in, "-o", out)...)
			b.Until("a finished part", func() bool { return finishedParts(out) > 0 })
			change(t, path, e2e.Read(t, clip(t, "b.mkv")))
			e2e.Contains(t, b.end(0), "the source changed meanwhile", "2 done")
			stop()
			e2e.Must(t, os.Remove(filepath.Join(out, "short.mp4")))
			same(t, out, want)
		})
	}
}

// A file still being written when the batch reaches it is filtered once it is whole.
func TestSourceIsWritten(t *testing.T) {
	e2e.Start(t, false)
	want := undisturbed(t, folder(t, "b.mkv"))
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	data := e2e.Read(t, clip(t, "b.mkv"))
	path := filepath.Join(in, "b.mkv")
	e2e.Put(t, path, data[:len(data)/3])
	b := begin(t, job(in, "-o", out)...)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	e2e.Must(t, err)
	e2e.WriteSlowly(t, f, data[len(data)/3:], 14, 50*time.Millisecond)
	e2e.Must(t, f.Close())
	b.end(0)
	e2e.Must(t, os.Remove(filepath.Join(out, "short.mp4")))
	same(t, out, want)
}

// A job whose source disappears is retried. It fails for that reason unless the file returns.
func TestSourceGone(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "a.mp4", "b.mkv"), filepath.Join(t.TempDir(), "out")
	told := filepath.Join(t.TempDir(), "r.json")
	want := undisturbed(t, in)
	away := filepath.Join(t.TempDir(), "away.mp4")
	b := begin(t, job(in, "-o", out, "--report", told, "--retries", "2")...)
	b.child("--part")
	e2e.Must(t, os.Rename(filepath.Join(in, "a.mp4"), away))
	b.Says("tried again: a.mp4")
	e2e.Must(t, os.Rename(away, filepath.Join(in, "a.mp4")))
	b.end(0)
	same(t, out, want)

	e2e.Must(t, os.RemoveAll(out))
	b = begin(t, job(in, "-o", out, "--report", told, "--retries", "1")...)
	b.child("--part")
	e2e.Must(t, os.Rename(filepath.Join(in, "a.mp4"), away))
	b.end(1)
	_, rows := readReport(t, told)
	if a := rows["a.mp4"]; a.State != "failed" || !strings.Contains(a.Reason, "no such file") || a.Attempts != 2 {
		t.Errorf("%+v", a)
	}
	if b := rows["b.mkv"]; b.State != "done" {
		t.Errorf("the other: %+v", b)
	}
	e2e.Must(t, os.Rename(away, filepath.Join(in, "a.mp4")))
	run(t, 0, in, "-o", out, "--retry-failed")
	same(t, out, want)
}

// A batch whose output folder is removed ends with an error, and reports no missing file as done.
func TestFolderRemoved(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "1.mp4=short.mp4", "2.mp4=long.mp4"), filepath.Join(t.TempDir(), "out")
	b := begin(t, slow(in, "-o", out, "--jobs", "1", "--segment", "0", "--progress", "plain")...)
	b.Until("an output, and another file at work", func() bool {
		return e2e.Exists(filepath.Join(out, "1.mp4")) && len(b.processes()) > 0
	})
	e2e.Must(t, os.RemoveAll(out))
	said := b.end(4)
	e2e.Contains(t, said, "the folder was removed", "it was done, and its output is gone", "hint: ")
	lacks(t, said, "1 of 2 jobs done", "2 of 2 jobs done")
	run(t, 0, in, "-o", out)
	tidy(t, out)
}

// An output removed during the batch is not reported as done.
func TestOutputRemoved(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "a.mp4", "short.mp4"), filepath.Join(t.TempDir(), "out")
	b := begin(t, slow(in, "-o", out, "--jobs", "1", "--segment", "0", "--progress", "plain")...)
	b.Until("an output", func() bool { return e2e.Exists(filepath.Join(out, "a.mp4")) })
	e2e.Must(t, os.Remove(filepath.Join(out, "a.mp4")))
	e2e.Contains(t, b.end(1), "1 done, 1 failed", "it was done, and its output is gone", "1 of 2 jobs done, 1 failed")
	e2e.Contains(t, begin(t, slow(in, "-o", out, "--segment", "0")...).end(0), "1 done, 1 skipped")
}
