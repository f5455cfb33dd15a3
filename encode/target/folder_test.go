package target

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
	"vidfilter/internal/sandbox"
	"vidfilter/live/livetest"
)

// TestFolder: a process in a sandbox can address targets in the working folder only. Each gets a
// name of its own, no file is replaced, and unfinished files are kept.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	b := &Broker{}
	do := func(op, format string, args ...any) (string, error) {
		answer, err := b.Do(op, json.RawMessage(fmt.Sprintf(format, args...)))
		b, _ := json.Marshal(answer)
		return string(b), err
	}
	must := func(op, format string, args ...any) string {
		t.Helper()
		answer, err := do(op, format, args...)
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		return answer
	}
	must("folder", `{"name":%q}`, dir)
	work := b.folder.Work()
	must(sandbox.Sealed, "null")
	for _, name := range []string{
		dir + "/a.mp4", work + "/../a.mp4", work + "/b/a.mp4", work + "/.a.mp4", work, work + "/", "a.mp4",
	} {
		if answer, err := do("prepare", `{"name":%q}`, name); err == nil {
			t.Errorf("prepare %s: %s", name, answer)
		}
	}
	for _, name := range []string{"../a.mp4", "", ".", "..", "/etc/passwd", ".a", "none.mp4"} {
		if answer, err := do("publish", `{"name":%q}`, name); err == nil {
			t.Errorf("publish %q: %s", name, answer)
		}
	}
	put(t, filepath.Join(dir, "a.mp4"), "theirs")
	must("prepare", `{"name":%q,"overwrite":"replace"}`, work+"/a.mp4")
	put(t, b.targets[0].Path(), "new")
	must("commit", `{"target":1}`)
	if got := must("publish", `{"name":"a.mp4"}`); got != `"a-2.mp4"` {
		t.Errorf("published as %s", got)
	}
	wantContent(t, filepath.Join(dir, "a.mp4"), "theirs")
	wantContent(t, filepath.Join(dir, "a-2.mp4"), "new")
	must("prepare", `{"name":%q}`, work+"/b.mp4")
	for _, want := range []string{"true", "false"} {
		if made := must("create", `{"target":2,"word":"recording","ending":".mp4","n":1}`); made != want {
			t.Errorf("made %s", made)
		}
	}
	put(t, work+"/b.recording.mp4", "half")
	for n := range 10 {
		if _, err := do("prepare", `{"name":%q}`, fmt.Sprintf("%s/c%d.mp4", work, n)); err != nil && n < 3 || err == nil && n > 5 {
			t.Errorf("unfinished target %d: %v", n, err)
		}
	}
	b.Close()
	livetest.WantFiles(t, dir, "a-2.mp4", "a.mp4", "b.recording.mp4")
}

// A folder that is opened again has the files of a killed run, but not the files of a running one.
func TestFolderLeft(t *testing.T) {
	dir := t.TempDir()
	killed, goes := dir+"/"+workMark+"1", dir+"/"+workMark+"2"
	for _, d := range []string{killed, goes} {
		e2e.Must(t, os.Mkdir(d, 0o700))
		put(t, d+"/x.recording.mp4", "half")
		put(t, d+"/.x.mp4.tmp", "temporary")
		put(t, d+"/empty.recording.mp4", "")
	}
	lock, err := lockFolder(goes)
	e2e.Must(t, err)
	defer lock.Close()
	put(t, dir+"/x.recording.mp4", "other")
	f, err := OpenFolder(dir)
	e2e.Must(t, err)
	if !slices.Equal(f.Left(), []string{"x.recording-2.mp4"}) {
		t.Errorf("left %q", f.Left())
	}
	wantContent(t, dir+"/x.recording.mp4", "other")
	f.Close()
	f.Close()
	livetest.WantFiles(t, dir, workMark+"2", "x.recording-2.mp4", "x.recording.mp4")
	for name, want := range map[string]string{dir + "/none": "mkdir", dir + "/x.recording.mp4": "not a folder"} {
		if _, err := OpenFolder(name); err == nil || !strings.Contains(fmt.Sprint(err, hint.Of(err)), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
