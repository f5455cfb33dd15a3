package batch

import (
	"os"
	"path/filepath"
	"testing"

	"vidfilter/internal/e2e"
)

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
	contains(t, said, "the folder was removed", "it was done, and its output is gone", "hint: ")
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
	contains(t, b.end(1), "1 done, 1 failed", "it was done, and its output is gone", "1 of 2 jobs done, 1 failed")
	contains(t, begin(t, slow(in, "-o", out, "--segment", "0")...).end(0), "1 done, 1 skipped")
}
