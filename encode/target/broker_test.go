package target

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/sandbox"
)

// asked has a broker do a request of a process, given as JSON.
func asked(b *Broker, op, body string) (any, error) { return b.Do(op, json.RawMessage(body)) }

// kept makes a broker with one target in a folder, out.mp4, and returns its number and the
// temporary file.
func kept(t testing.TB, dir, overwrite string) (b *Broker, target int, temp string) {
	t.Helper()
	b = &Broker{}
	body, err := json.Marshal(request{Name: contract.Name(filepath.Join(dir, "out.mp4")), Overwrite: overwrite})
	e2e.Must(t, err)
	answer, err := b.Do("prepare", body)
	e2e.Must(t, err)
	p := answer.(preparation)
	if _, err := asked(b, sandbox.Sealed, "null"); err != nil {
		t.Fatal(err)
	}
	return b, p.Target, string(p.Temp)
}

func fileNames(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	e2e.Must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestBroker(t *testing.T) {
	dir := t.TempDir()
	b, _, temp := kept(t, dir, "refuse")
	e2e.Must(t, os.WriteFile(temp, []byte("video"), 0o600))
	if _, err := asked(b, "commit", `{"target":1}`); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if b, err := os.ReadFile(filepath.Join(dir, "out.mp4")); err != nil || string(b) != "video" || fileNames(t, dir) != "out.mp4" {
		t.Errorf("%q, %v: %s", b, err, fileNames(t, dir))
	}
	b, _, temp = kept(t, dir, "refuse")
	_, err := asked(b, "commit", `{"target":1}`)
	if !errors.Is(err, ErrOutput) || !errors.Is(err, errExists) {
		t.Errorf("a file that exists: %v", err)
	}
	if name, err := asked(b, "keep", `{"target":1,"word":"interrupted"}`); err == nil {
		t.Errorf("kept as %v", name) // the refused commit opened no target
	}
	b.Close()
	if _, err := os.Stat(temp); err == nil || fileNames(t, dir) != "out.mp4" {
		t.Errorf("left: %s", fileNames(t, dir))
	}
}

// Names are bytes: those that are not UTF-8 reach the broker, and come back, as they are.
func TestBrokerKeepsTheBytesOfNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "Fr\xfchling")
	e2e.Must(t, os.Mkdir(dir, 0o700))
	name := contract.Name(filepath.Join(dir, "K\xe4se.mp4"))
	wire := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		e2e.Must(t, err)
		return b
	}
	b := &Broker{}
	defer b.Close()
	do := func(op string, r request, answer any) {
		t.Helper()
		a, err := b.Do(op, wire(r))
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		if err := json.Unmarshal(wire(a), answer); err != nil {
			t.Fatalf("%s: %v", op, err)
		}
	}
	var p preparation
	do("prepare", request{Name: name, Inputs: []contract.Name{"\xff"}}, &p)
	if err := os.WriteFile(string(p.Temp), []byte("video"), 0o600); err != nil || p.Path != name {
		t.Fatalf("%q, %v", p.Path, err)
	}
	var final contract.Name
	do("commit", request{Target: p.Target}, &final)
	do("prepare", request{Name: name, Overwrite: "replace"}, &p)
	var kept contract.Name
	do("keep", request{Target: p.Target, Word: "finished"}, &kept)
	if want := name[:len(name)-4] + ".finished.mp4"; final != name || kept != want {
		t.Errorf("the names are %q and %q, want %q and %q", final, kept, name, want)
	}
	var f folderAnswer
	b.sealed = false
	do("folder", request{Name: contract.Name(dir)}, &f)
	if string(f.Dir) != dir || filepath.Dir(string(f.Work)) != dir {
		t.Errorf("the folder is %q, with %q", f.Dir, f.Work)
	}
}

// Without a temporary file there is no name to replace in a message.
func TestExplainWithoutTemp(t *testing.T) {
	err := errors.New("disk full")
	if got := (&File{name: "out.mp4"}).Explain(err); got != err {
		t.Error(got)
	}
}

// Requests of a process that has entered its sandbox reach its own target only.
func TestBrokerRefuses(t *testing.T) {
	dir := t.TempDir()
	b, _, _ := kept(t, dir, "replace")
	defer b.Close()
	for _, r := range []struct{ op, body string }{
		{"prepare", `{"name":"` + dir + `/other.mp4","overwrite":"replace"}`},
		{"commit", `{"target":0}`}, {"commit", `{"target":2}`}, {"commit", `{"target":-1}`}, {"commit", `[`},
		{"keep", `{"target":1,"word":"../other"}`}, {"keep", `{"target":1}`},
		{"remove", `{"target":1,"word":"recording","ending":"/../other.mp4","n":1}`},
		{"remove", `{"target":1,"word":"recording","ending":".mp4","n":0}`},
		{"remove", `{"target":1,"word":"","ending":".mp4","n":1}`},
		{"create", `{"target":1,"word":"recording","ending":"/../other.mp4","n":1}`}, {"create", `{"target":1,"word":"","ending":".mp4","n":1}`},
		{"folder", `{"name":"` + dir + `"}`}, {"publish", `{"name":"out.mp4"}`},
		{"listen", `{"target":1}`}, {"", `{"target":1}`},
	} {
		if answer, err := asked(b, r.op, r.body); err == nil {
			t.Errorf("%s %s: %v", r.op, r.body, answer)
		}
	}
}

// FuzzBroker has a captured process ask for anything: lines of an operation and its JSON.
func FuzzBroker(f *testing.F) {
	f.Add("commit {\"target\":1}\n", true)
	f.Add("open {\"target\":1}\nkeep {\"target\":1,\"word\":\"unverified\"}\ndiscard {\"target\":1}", false)
	f.Add("remove {\"target\":1,\"word\":\"recording\",\"ending\":\".mp4\",\"n\":1}\nkeep {\"target\":1,\"word\":\"interrupted\"}", false)
	f.Add("prepare {\"name\":\"/tmp/x\",\"overwrite\":\"replace\"}\nsealed {}", true)
	f.Add("create {\"target\":1,\"word\":\"recording\",\"ending\":\".mp4\",\"n\":2}\nfolder {\"name\":\".\"}\npublish {\"name\":\"x\"}", false)
	own := regexp.MustCompile(`^out(\.(unverified|interrupted|recording)(-\d+)?)?\.mp4$`)
	f.Fuzz(func(t *testing.T, text string, exists bool) {
		dir := t.TempDir()
		for _, name := range []string{"secret.mp4", "out.recording.mp4"} {
			e2e.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
		}
		if exists {
			e2e.Must(t, os.WriteFile(filepath.Join(dir, "out.mp4"), []byte("theirs"), 0o600))
		}
		b, _, _ := kept(t, dir, "refuse")
		for line := range strings.Lines(text) {
			op, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			_, _ = asked(b, op, body)
		}
		b.Close()
		if b, err := os.ReadFile(filepath.Join(dir, "secret.mp4")); err != nil || string(b) != "secret.mp4" {
			t.Errorf("another file: %q, %v", b, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "out.mp4")); exists && (err != nil || string(b) != "theirs") {
			t.Errorf("a file that must not be replaced: %q, %v", b, err)
		}
		for _, name := range strings.Fields(fileNames(t, dir)) {
			if name != "secret.mp4" && !own.MatchString(name) {
				t.Errorf("made %q", name)
			}
		}
	})
}
