package batchtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cutShort ends a batch in the middle of a.mp4 and returns its folder.
func cutShort(t *testing.T, in string) (out string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "out")
	b := begin(t, job(in, "-o", out, "--progress", "json")...)
	b.says(`"task":"part-0002"`)
	b.kill()
	return out
}

// What keeps the state may be lost or spoiled: what it knew is done again, and nothing that is done.
func TestStateLost(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, state string){
		"queue": func(t *testing.T, state string) { must(t, os.RemoveAll(filepath.Join(state, "queue"))) },
		"all":   func(t *testing.T, state string) { must(t, os.RemoveAll(state)) },
		"site":  func(t *testing.T, state string) { must(t, os.Remove(filepath.Join(state, "site"))) },
		"parts": func(t *testing.T, state string) { must(t, os.RemoveAll(filepath.Join(state, "work"))) },
		"record": func(t *testing.T, state string) {
			put(t, filepath.Join(state, "jobs/a.mp4.json"), []byte(`{"output": "a.m`))
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
			start(t, name == "queue")
			in, alone := folder(t, "a.mp4", "short.mp4"), filepath.Join(t.TempDir(), "alone")
			run(t, 0, in, "-o", alone)
			out := cutShort(t, in)
			lose(t, filepath.Join(out, ".vidfilter"))
			run(t, 0, in, "-o", out)
			same(t, out, contents(t, alone))
			tidy(t, out)
			contains(t, run(t, 0, in, "-o", out), "2 skipped")
		})
	}
}

// blocks spoils the files that the queue keeps its messages in.
func blocks(t *testing.T, state string, spoil func(name string, data []byte) []byte) {
	t.Helper()
	n := 0
	must(t, filepath.WalkDir(filepath.Join(state, "queue"), func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".blk") {
			n++
			put(t, name, spoil(name, read(t, name)))
		}
		return err
	}))
	if n == 0 {
		t.Fatal("the queue has no files")
	}
}

// An output whose record is gone is somebody's; -y does it again, though the queue remembers that it was done.
func TestRecordGone(t *testing.T) {
	start(t, false)
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	run(t, 0, in, "-o", out)
	want := contents(t, out)
	must(t, os.Remove(filepath.Join(out, ".vidfilter/jobs/short.mp4.json")))
	contains(t, run(t, 1, in, "-o", out), "no batch has made")
	contains(t, run(t, 0, in, "-o", out, "-y"), "1 done")
	same(t, out, want)
	contains(t, run(t, 0, in, "-o", out), "1 skipped")
}

// Outputs among the sources are refused where they would replace them, also with -y and through links, and are no sources later.
func TestSameFolder(t *testing.T) {
	start(t, true)
	in := folder(t, "short.mp4")
	intact := untouched(t, in)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(in, link))
	hard := t.TempDir()
	must(t, os.Link(filepath.Join(in, "short.mp4"), filepath.Join(hard, "short.mp4")))
	for _, out := range []string{in, in + "/.", link, hard} {
		begin(t, job(in, "-o", out, "-y")...).wait(func(code int) bool { return code == 1 || code == 2 })
		if !strings.HasSuffix(out, "/.") && out != in && out != link {
			continue
		}
		must(t, os.RemoveAll(filepath.Join(in, ".vidfilter")))
	}
	intact()
	run(t, 0, in, "-o", in, "--name", "{stem}.clean{ext}")
	contains(t, run(t, 0, in, "-o", in, "--name", "{stem}.clean{ext}"), "1 skipped")
	if n := len(contents(t, in)); n != 2 {
		t.Errorf("%v", contents(t, in))
	}
}

// Folders may have any name.
func TestStrangeNames(t *testing.T) {
	start(t, false)
	clips := folder(t, "a.mp4")
	long := strings.Repeat("very long ", 20)
	for _, name := range []string{"two\nlines", "-y", "*[a]?{stem}", "%d 100%", long, "'\"$(x)\\"} {
		dir := filepath.Join(t.TempDir(), name)
		put(t, filepath.Join(dir, "in", name+".mp4"), read(t, filepath.Join(clips, "a.mp4")))
		out := filepath.Join(dir, "out")
		contains(t, run(t, 0, filepath.Join(dir, "in"), "-o", out), "1 done")
		for output := range contents(t, out) { // a dash in front is none of the output's
			playable(t, filepath.Join(out, output))
		}
		contains(t, run(t, 0, filepath.Join(dir, "in"), "-o", out), "1 skipped")
		tidy(t, out)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "caf\xe9.mp4"), read(t, filepath.Join(clips, "a.mp4")))
	contains(t, run(t, 1, dir, "-o", filepath.Join(t.TempDir(), "out")), "is not UTF-8")
}

// A folder that cannot be written to is said so at once.
func TestNoFolder(t *testing.T) {
	start(t, true)
	in := folder(t, "short.mp4")
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, nil)
	b := begin(t, job(in, "-o", filepath.Join(file, "out"))...)
	b.wait(func(code int) bool { return code == 1 || code == 2 || code == 4 })
	contains(t, b.err.String(), file)
}

// Lists of names come from files and from stdin; what is not there does not stop the rest.
func TestLists(t *testing.T) {
	start(t, true)
	in, out := folder(t, "short.mp4", "c.mov"), filepath.Join(t.TempDir(), "out")
	list := filepath.Join(t.TempDir(), "list.txt")
	put(t, list, []byte(filepath.Join(in, "short.mp4")+"\n"+filepath.Join(in, "none.mp4")+"\n"+filepath.Join(in, "c.mov")+"\n"))
	said := run(t, 1, "@"+list, "-o", out)
	contains(t, said, "none.mp4", "2 done", "1 failed")
	contains(t, run(t, 0, filepath.Join(in, "*.m[op][v4]"), "-o", out), "2 skipped")
}
