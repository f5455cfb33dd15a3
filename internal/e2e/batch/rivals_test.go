package batch

import (
	"path/filepath"
	"testing"

	"vidfilter/internal/e2e"
)

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
