package batch

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// damage corrupts a stretch in the middle of a clip, which stays readable.
func damage(data []byte) []byte {
	data = bytes.Clone(data)
	for i := len(data) / 2; i < len(data)/2+4000; i++ {
		data[i] = byte(i * 7)
	}
	return data
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// One bad file does not stop the others. It is not retried until it changes or --retry-failed asks
// for it.
func TestCorrupt(t *testing.T) {
	e2e.Start(t, true)
	in := folder(t, "a.mp4", "short.mp4")
	whole := e2e.Read(t, clip(t, "a.mp4"))
	e2e.Put(t, filepath.Join(in, "cut.mp4"), whole[:len(whole)/2])
	e2e.Put(t, filepath.Join(in, "empty.mp4"), nil)
	e2e.Put(t, filepath.Join(in, "noise.mkv"), noise(50000))
	e2e.Put(t, filepath.Join(in, "text.mp4"), []byte("Dear diary, this is no video.\n"))
	e2e.Put(t, filepath.Join(in, "hurt.mkv"), damage(e2e.Read(t, clip(t, "b.mkv"))))
	bad := []string{"cut.mp4", "empty.mp4", "noise.mkv", "text.mp4"}
	intact := untouched(t, in)
	dir := t.TempDir()
	out, told := filepath.Join(dir, "out"), filepath.Join(dir, "report.json")

	said := run(t, 1, in, "-o", out, "--report", told)
	e2e.Contains(t, said, "4 files failed, 1 source damaged", "--retry-failed", "2 done", "1 damaged", "4 failed")
	r, rows := readReport(t, told)
	if r.Totals.Files != 7 || r.Totals.States["done"] != 2 || r.Totals.States["failed"] != 4 || r.Totals.States["damaged"] != 1 {
		t.Errorf("totals %+v", r.Totals)
	}
	for _, name := range bad {
		row := rows[name]
		if row.State != "failed" || len(row.Reason) < 10 || row.Attempts != 1 || row.After != 0 {
			t.Errorf("%s: %+v", name, row)
		}
		e2e.Contains(t, said, name)
		if e2e.Exists(filepath.Join(out, name)) {
			t.Errorf("%s has an output", name)
		}
	}
	if h := rows["hurt.mkv"]; h.State != "damaged" || h.Frames < 20 || h.After == 0 {
		t.Errorf("damaged: %+v", h)
	}
	tidy(t, out)
	done := files(t, out)

	said = run(t, 1, in, "-o", out, "--report", told)
	_, rows = readReport(t, told)
	for _, name := range bad {
		if !strings.Contains(rows[name].Reason, "before; --retry-failed") {
			t.Errorf("%s in a second run: %+v", name, rows[name])
		}
	}
	e2e.Contains(t, said, "3 skipped", "4 files failed, 1 source damaged")
	run(t, 1, in, "-o", out, "--report", told, "--retry-failed")
	_, rows = readReport(t, told)
	for _, name := range bad {
		if row := rows[name]; row.State != "failed" || row.Attempts < 2 || strings.Contains(row.Reason, "before") {
			t.Errorf("%s tried again: %+v", name, row)
		}
	}
	for name, s := range files(t, out) {
		if done[name] != s {
			t.Errorf("%s was made again", name)
		}
	}
	intact()

	e2e.Put(t, filepath.Join(in, "cut.mp4"), whole)
	run(t, 1, in, "-o", out, "--report", told)
	if _, rows = readReport(t, told); rows["cut.mp4"].State != "done" || rows["cut.mp4"].Frames != 100 || rows["text.mp4"].State != "failed" {
		t.Errorf("repaired: %+v", rows["cut.mp4"])
	}
	for _, name := range bad[1:] {
		e2e.Must(t, os.Remove(filepath.Join(in, name)))
	}
	e2e.Contains(t, run(t, 6, in, "-o", out), "4 skipped", "1 source damaged")
	e2e.Must(t, os.Remove(filepath.Join(in, "hurt.mkv")))
	e2e.Contains(t, run(t, 0, in, "-o", out), "3 skipped")
	tidy(t, out)
}

// A child that is killed, as by the out-of-memory killer, is restarted.
func TestChildKilled(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "a.mp4"), filepath.Join(t.TempDir(), "out")
	want := undisturbed(t, in)
	b := begin(t, job(in, "-o", out)...)
	p, err := os.FindProcess(b.child("--part"))
	e2e.Must(t, err)
	e2e.Must(t, p.Kill())
	e2e.Contains(t, b.end(0), "tried again: a.mp4")
	same(t, out, want)
}
