package batch

import (
	"path/filepath"
	"strings"
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
	contains(t, second.end(0), "another batch is at work", "2 skipped")
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

// Many batches started at once filter each file once.
func TestManyBatches(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "a.mp4", "short.mp4", "c.mov"), filepath.Join(t.TempDir(), "out")
	var all []*batch
	for range 4 {
		all = append(all, begin(t, job(in, "-o", out)...))
	}
	skipped := 0
	for _, b := range all {
		if strings.Contains(b.end(0), "3 skipped") {
			skipped++
		}
	}
	if skipped != 3 {
		t.Errorf("%d of 4 had nothing to do", skipped)
	}
	tidy(t, out)
}

// If the first is killed, the second resumes its work.
func TestTakeOver(t *testing.T) {
	e2e.Start(t, true)
	in := folder(t, "a.mp4", "b.mkv")
	alone := filepath.Join(t.TempDir(), "alone")
	run(t, 0, in, "-o", alone)
	out := filepath.Join(t.TempDir(), "out")
	stop := guard(t, out, contents(t, alone))
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
	same(t, out, contents(t, alone))
	tidy(t, out)
	records(t, out, 2)
}
