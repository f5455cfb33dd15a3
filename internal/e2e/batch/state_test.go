package batch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// cutShort ends a batch in the middle of a.mp4 and returns its folder.
func cutShort(t *testing.T, in string) (out string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "out")
	b := begin(t, job(in, "-o", out, "--progress", "json")...)
	b.Says(`"task":"part-0002"`)
	b.kill()
	return out
}

// The queue's files may be lost or corrupted: unfinished work is repeated, finished work is not.
func TestStateLost(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, state string){
		"queue": func(t *testing.T, state string) { e2e.Must(t, os.RemoveAll(filepath.Join(state, "queue"))) },
		"all":   func(t *testing.T, state string) { e2e.Must(t, os.RemoveAll(state)) },
		"site":  func(t *testing.T, state string) { e2e.Must(t, os.Remove(filepath.Join(state, "site"))) },
		"parts": func(t *testing.T, state string) { e2e.Must(t, os.RemoveAll(filepath.Join(state, "work"))) },
		"record": func(t *testing.T, state string) {
			e2e.Put(t, filepath.Join(state, "jobs/a.mp4.json"), []byte(`{"output": "a.m`))
		},
		"blocks cut off": func(t *testing.T, state string) {
			blocks(t, state, func(name string, data []byte) []byte { return data[:len(data)/2] })
		},
		"blocks empty": func(t *testing.T, state string) {
			blocks(t, state, func(name string, data []byte) []byte { return nil })
		},
		"blocks spoiled": func(t *testing.T, state string) {
			blocks(t, state, func(name string, data []byte) []byte { return noise(len(data)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "queue" && name != "parts" && name != "record" && name != "blocks cut off" {
				patient(t)
			}
			e2e.Start(t, name == "queue")
			in := folder(t, "a.mp4", "short.mp4")
			want := undisturbed(t, in)
			out := cutShort(t, in)
			lose(t, filepath.Join(out, ".vidfilter"))
			run(t, 0, in, "-o", out)
			same(t, out, want)
			e2e.Contains(t, run(t, 0, in, "-o", out), "2 skipped")
		})
	}
}

// blocks corrupts the queue's message files.
func blocks(t *testing.T, state string, spoil func(name string, data []byte) []byte) {
	t.Helper()
	n := 0
	e2e.Must(t, filepath.WalkDir(filepath.Join(state, "queue"), func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".blk") {
			n++
			e2e.Put(t, name, spoil(name, e2e.Read(t, name)))
		}
		return err
	}))
	if n == 0 {
		t.Fatal("the queue has no files")
	}
}

// An output without its record counts as another's; -y repeats it, though the queue remembers it
// as done.
func TestRecordGone(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	run(t, 0, in, "-o", out)
	want := contents(t, out)
	e2e.Must(t, os.Remove(filepath.Join(out, ".vidfilter/jobs/short.mp4.json")))
	e2e.Contains(t, run(t, 1, in, "-o", out), "no batch has made")
	e2e.Contains(t, run(t, 0, in, "-o", out, "-y"), "1 done")
	same(t, out, want)
	e2e.Contains(t, run(t, 0, in, "-o", out), "1 skipped")
}

// Outputs that would replace sources are refused, also with -y and through links; outputs never
// become sources.
func TestSameFolder(t *testing.T) {
	e2e.Start(t, true)
	in := folder(t, "short.mp4")
	intact := untouched(t, in)
	link := filepath.Join(t.TempDir(), "link")
	e2e.Must(t, os.Symlink(in, link))
	hard := t.TempDir()
	e2e.Must(t, os.Link(filepath.Join(in, "short.mp4"), filepath.Join(hard, "short.mp4")))
	for _, out := range []string{in, in + "/.", link, hard} {
		begin(t, job(in, "-o", out, "-y")...).wait(func(code int) bool { return code == 1 || code == 2 })
		if !strings.HasSuffix(out, "/.") && out != in && out != link {
			continue
		}
		e2e.Must(t, os.RemoveAll(filepath.Join(in, ".vidfilter")))
	}
	intact()
	run(t, 0, in, "-o", in, "--name", "{stem}.clean{ext}")
	e2e.Contains(t, run(t, 0, in, "-o", in, "--name", "{stem}.clean{ext}"), "1 skipped")
	if n := len(contents(t, in)); n != 2 {
		t.Errorf("%v", contents(t, in))
	}
}

// Folders may have any name.
func TestStrangeNames(t *testing.T) {
	e2e.Start(t, false)
	clips := folder(t, "a.mp4")
	long := strings.Repeat("very long ", 20)
	for _, name := range []string{"two\nlines", "-y", "*[a]?{stem}", "%d 100%", long, "'\"$(x)\\"} {
		dir := filepath.Join(t.TempDir(), name)
		e2e.Put(t, filepath.Join(dir, "in", name+".mp4"), e2e.Read(t, filepath.Join(clips, "a.mp4")))
		out := filepath.Join(dir, "out")
		e2e.Contains(t, run(t, 0, filepath.Join(dir, "in"), "-o", out), "1 done")
		for output := range contents(t, out) { // a leading dash is not the output's
			playable(t, filepath.Join(out, output))
		}
		e2e.Contains(t, run(t, 0, filepath.Join(dir, "in"), "-o", out), "1 skipped")
		tidy(t, out)
	}
	dir := t.TempDir()
	e2e.Put(t, filepath.Join(dir, "caf\xe9.mp4"), e2e.Read(t, filepath.Join(clips, "a.mp4")))
	e2e.Contains(t, run(t, 1, dir, "-o", filepath.Join(t.TempDir(), "out")), "is not UTF-8")
}

// A file in place of the queue's folder is an error with its path and the disk's exit code.
func TestNoQueue(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	e2e.Must(t, os.MkdirAll(filepath.Join(out, ".vidfilter"), 0o755))
	queue := filepath.Join(out, ".vidfilter", "queue")
	e2e.Put(t, queue, nil)
	e2e.Contains(t, run(t, 4, in, "-o", out), queue, "not a directory")
}

// Lists of names come from files and from stdin; missing files do not stop the rest.
func TestLists(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "short.mp4", "c.mov"), filepath.Join(t.TempDir(), "out")
	list := filepath.Join(t.TempDir(), "list.txt")
	e2e.Put(t, list, []byte(filepath.Join(in, "short.mp4")+"\n"+filepath.Join(in, "none.mp4")+"\n"+filepath.Join(in, "c.mov")+"\n"))
	said := run(t, 1, "@"+list, "-o", out)
	e2e.Contains(t, said, "none.mp4", "2 done", "1 failed")
	e2e.Contains(t, run(t, 0, filepath.Join(in, "*.m[op][v4]"), "-o", out), "2 skipped")
}
