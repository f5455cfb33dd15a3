package batch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

type work struct {
	*testing.T
	dir, root string
	item      Item
}

const version = "1.0"

func newWork(t *testing.T) work {
	dir := tree(t)
	source := put(t, "the source", dir, "in", "a.avi")
	root := filepath.Join(dir, "out")
	e2e.Must(t, os.Mkdir(root, 0o755))
	return work{t, dir, root, Item{Source: source, Output: "x/a.mkv", Args: []string{"--radius=3"}, Deciding: []string{"--radius=3"}}}
}

func (w work) check() Finding {
	w.Helper()
	f, err := Check(w.root, w.item, Program{Version: version})
	e2e.Must(w, err)
	return f
}

func (w work) want(v Verdict, reason string) Finding {
	w.Helper()
	f := w.check()
	if f.Verdict != v || !strings.Contains(f.Reason, reason) {
		w.Errorf("%s (%s), want %s (%s)", f.Verdict, f.Reason, v, reason)
	}
	return f
}

// older checks the verdict of version 2.0 on files left by version 1.0.
func (w work) older(remake bool, v Verdict, reason string) Finding {
	w.Helper()
	f, err := Check(w.root, w.item, Program{"2.0", remake})
	e2e.Must(w, err)
	if f.Verdict != v || f.Reason != reason {
		w.Errorf("remake %v: %s (%s), want %s (%s)", remake, f.Verdict, f.Reason, v, reason)
	}
	return f
}

func (w work) output() string { return w.item.OutputPath(w.root) }

func (w work) begin() Record {
	w.Helper()
	r := Begin(w.item, w.check(), version, time.Now())
	e2e.Must(w, WriteRecord(w.root, r))
	return r
}

// temp makes a finished file that waits for its name.
func (w work) temp(text string) string {
	w.Helper()
	return put(w, text, w.root, "x", ".a.mkv.temp")
}

func (w work) finish(text string) Record {
	w.Helper()
	r, err := Finish(Outputs{Root: w.root}, w.begin(), w.temp(text), false)
	e2e.Must(w, err)
	return r
}

func (w work) wantOutput(text string) {
	w.Helper()
	got, err := os.ReadFile(w.output())
	if err != nil || string(got) != text {
		w.Errorf("the output is %q, %v; want %q", got, err, text)
	}
	if exists(filepath.Join(w.root, "x", ".a.mkv.temp")) {
		w.Error("the temporary file is left")
	}
}

func TestCheck(t *testing.T) {
	w := newWork(t)
	w.want(New, "")
	r := w.begin()
	if r.Attempts != 1 || r.State != RecordRunning {
		t.Errorf("%+v", r)
	}
	w.want(New, "begun")
	if r = w.begin(); r.Attempts != 2 {
		t.Errorf("attempts: %d", r.Attempts)
	}
	done := w.finish("result")
	if done.State != RecordDone || done.Temp != "" || done.Ended.IsZero() || done.OutputFile.Size != 6 {
		t.Errorf("%+v", done)
	}
	w.want(Done, "")
	w.wantOutput("result")
	touch(t, w.output(), time.Now().Add(time.Hour))
	w.want(Done, "") // a copy is as good

	for _, c := range []struct {
		reason     string
		edit, undo func()
	}{
		{"the source is another", func() { touch(t, w.item.Source, time.Unix(1, 1)) }, func() { touch(t, w.item.Source, done.SourceFile.MTime) }},
		{"other options: --radius=4, was --radius=3", func() { w.item.Deciding = []string{"--radius=4"} },
			func() { w.item.Deciding = []string{"--radius=3"} }},
	} {
		c.edit()
		f := w.want(Changed, c.reason)
		if r := Begin(w.item, f, version, time.Now()); r.Before == nil || !r.Before.Same(*done.OutputFile) {
			t.Errorf("the record forgets the output that is there: %+v", r)
		}
		c.undo()
		w.want(Done, "")
	}
	w.older(false, Done, "")
	w.older(true, Changed, "made by version 1.0, this is 2.0")
	e2e.Must(t, os.Remove(w.output()))
	w.want(New, "gone")
	if f := w.older(false, New, ""); f.Digest != Digest(w.item, f.Source, "2.0") {
		t.Error("an output that is gone would be made with the older version's digest")
	}
	put(t, "edited by hand", w.output())
	w.want(Edited, "changed since")
	e2e.Must(t, os.Remove(RecordPath(w.root, w.item.Output)))
	w.want(Foreign, "no batch")

	w.item.Source += ".gone"
	if _, err := Check(w.root, w.item, Program{Version: version}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("source away: %v", err)
	}
}

func TestFailedRecord(t *testing.T) {
	w := newWork(t)
	r := w.begin()
	r.State, r.Reason = RecordFailed, "corrupt"
	e2e.Must(t, WriteRecord(w.root, r))
	w.want(Failed, "corrupt")
	put(t, "another source", w.item.Source)
	w.want(New, "")
	put(t, "foreign", w.output())
	w.want(Foreign, "")
}

// If remaking an output is killed, the old output is still known as ours.
func TestRemade(t *testing.T) {
	w := newWork(t)
	w.finish("old")
	w.item.Deciding = []string{"--radius=9"}
	w.want(Changed, "")
	w.begin()
	w.want(New, "it was begun")
	if r := w.begin(); r.Before == nil || r.Attempts != 2 {
		t.Errorf("%+v", r)
	}
	w.finish("new")
	w.wantOutput("new")
	w.want(Done, "")
}

var errKilled = errors.New("killed")

// Stopped after any step, the next run finds the finished work and completes it.
func TestFinishKilled(t *testing.T) {
	for _, old := range []string{"", "old"} {
		for _, step := range []string{afterFinishing, afterRename, afterDone} {
			t.Run(step+" over "+old, func(t *testing.T) {
				w := newWork(t)
				if old != "" {
					w.finish(old)
					put(t, "another source", w.item.Source)
				}
				f := newFinisher(Outputs{Root: w.root}, false)
				f.stop = func(s string) error {
					if s == step {
						return errKilled
					}
					return nil
				}
				if _, err := f.finish(w.begin(), w.temp("new")); !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				if step == afterDone {
					w.want(Done, "")
					return
				}
				found := w.want(Interrupted, "")
				f.stop = func(s string) error { // again, while it is completed
					if s == afterRename {
						return errKilled
					}
					return nil
				}
				if _, err := f.complete(*found.Record); !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				found = w.want(Interrupted, "")
				r, err := Resume(Outputs{Root: w.root}, *found.Record, false)
				e2e.Must(t, err)
				if r.State != RecordDone {
					t.Errorf("state %s", r.State)
				}
				w.want(Done, "")
				w.wantOutput("new")
			})
		}
	}
}

// Where renaming means linking, a kill can leave both names.
func TestFinishKilledBetweenLinks(t *testing.T) {
	w := newWork(t)
	f := newFinisher(Outputs{Root: w.root}, false)
	f.stop = func(string) error { return errKilled }
	r, err := f.finish(w.begin(), w.temp("new"))
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	e2e.Must(t, os.Link(filepath.Join(w.root, r.Temp), w.output()))
	found := w.want(Interrupted, "")
	_, err = Resume(Outputs{Root: w.root}, *found.Record, false)
	e2e.Must(t, err)
	w.wantOutput("new")
}

func TestInterruptedInVain(t *testing.T) {
	w := newWork(t)
	f := newFinisher(Outputs{Root: w.root}, false)
	f.stop = func(string) error { return errKilled }
	r, _ := f.finish(w.begin(), w.temp("new"))
	put(t, "half", w.root, r.Temp) // the disk lost it
	w.want(New, "")
	e2e.Must(t, os.Remove(filepath.Join(w.root, r.Temp)))
	w.want(New, "")
	if _, err := Resume(Outputs{Root: w.root}, r, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFinishNeverReplaces(t *testing.T) {
	w := newWork(t)
	r := w.begin()
	put(t, "foreign", w.output())
	temp := w.temp("new")
	if _, err := Finish(Outputs{Root: w.root}, r, temp, false); !errors.Is(err, ErrTaken) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(w.output()); string(got) != "foreign" || !exists(temp) {
		t.Errorf("the output is %q; temp is there: %v", got, exists(temp))
	}
	w.want(Foreign, "")
	_, err := Finish(Outputs{Root: w.root}, r, temp, true)
	e2e.Must(t, err)
	w.wantOutput("new")
	w.want(Done, "")

	// A file that appears after the last check.
	w = newWork(t)
	f := newFinisher(Outputs{Root: w.root}, false)
	f.stop = func(s string) error {
		put(t, "foreign", w.output())
		return nil
	}
	if _, err := f.finish(w.begin(), w.temp("new")); !errors.Is(err, ErrTaken) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(w.output()); string(got) != "foreign" {
		t.Errorf("the output is %q", got)
	}
}

func TestFinishRefused(t *testing.T) {
	w := newWork(t)
	r := w.begin()
	put(t, "the source, longer", w.item.Source)
	if _, err := Finish(Outputs{Root: w.root}, r, w.temp("new"), false); !errors.Is(err, ErrSourceChanged) {
		t.Errorf("got %v", err)
	}
	if exists(w.output()) {
		t.Error("there is an output")
	}
	if _, err := Finish(Outputs{Root: w.root}, w.begin(), put(t, "", w.dir, "elsewhere"), false); err == nil {
		t.Error("a file from elsewhere was taken")
	}
	if _, err := Finish(Outputs{Root: w.root}, w.begin(), filepath.Join(w.root, "none"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Damaged records count as missing, and never stop a batch.
func TestDamagedRecords(t *testing.T) {
	w := newWork(t)
	w.finish("result")
	name := RecordPath(w.root, w.item.Output)
	good, err := os.ReadFile(name)
	e2e.Must(t, err)
	for _, text := range []string{
		"", "{", "[]", "null", "{}", `{"state": "odd"}`, string(good[:len(good)/2]), string(good) + "x",
		strings.Replace(string(good), "x/a.mkv", "x/b.mkv", 1),
		strings.Replace(string(good), "x/a.mkv", "../a.mkv", 1),
		strings.Replace(string(good), `"state": "done"`, `"state": "finishing"`, 1),
		strings.Replace(string(good), `"state": "done"`, `"state": "finishing", "temp": "../../etc/passwd"`, 1),
		strings.Replace(string(good), "output_file", "output_life", 1),
	} {
		put(t, text, name)
		if f := w.want(Foreign, ""); !errors.Is(f.Warning, ErrDamagedRecord) || f.Record != nil {
			t.Errorf("%q: warning %v, record %v", text, f.Warning, f.Record)
		}
		bad := 0
		e2e.Must(t, Records(w.root, func(r *Record, err error) {
			if err != nil {
				bad++
			}
		}))
		if bad != 1 && !strings.Contains(text, "x/b.mkv") {
			t.Errorf("%q: %d damaged records are listed", text, bad)
		}
	}
	put(t, string(good), name)
	w.want(Done, "")
	put(t, "half a record", filepath.Dir(name), ".tmp-123")
	e2e.Must(t, WriteRecord(w.root, Record{Output: ".tmp-hidden.mkv", State: RecordRunning}))
	n := 0
	e2e.Must(t, Records(w.root, func(r *Record, err error) {
		e2e.Must(t, err)
		n++
	}))
	e2e.Must(t, Tidy(w.root))
	if exists(filepath.Join(filepath.Dir(name), ".tmp-123")) || !exists(name) {
		t.Error("tidied wrongly")
	}
	e2e.Must(t, Records(w.root, func(r *Record, err error) { n++ }))
	if n != 4 {
		t.Errorf("%d records, want 2 before and 2 after", n)
	}
	e2e.Must(t, Tidy(w.dir))
}

// No record leads out of the root, or to the loss of a file that is not ours.
func FuzzRecord(f *testing.F) {
	f.Add(`{"output": "a.mkv", "state": "finishing", "temp": "t", "digest": "x", "output_file": {"size": 1, "hash": "h"}}`)
	f.Add(`{"output": "a.mkv", "state": "done", "digest": "x", "output_file": {}}`)
	f.Fuzz(func(t *testing.T, text string) {
		root := t.TempDir()
		put(t, text, RecordPath(root, "a.mkv"))
		put(t, "foreign", root, "a.mkv")
		item := Item{Source: put(t, "source", root, "source"), Output: "a.mkv"}
		found, err := Check(root, item, Program{Version: version})
		e2e.Must(t, err)
		if found.Verdict == Done || found.Verdict == Interrupted || found.Verdict == Changed {
			t.Fatalf("%q: %s", text, found.Verdict)
		}
		if found.Record != nil && found.Record.Temp != "" {
			_, _ = Resume(Outputs{Root: root}, *found.Record, false)
		}
		if got, err := os.ReadFile(filepath.Join(root, "a.mkv")); err != nil || string(got) != "foreign" {
			t.Fatalf("%q: the file is %q, %v", text, got, err)
		}
	})
}

func TestRecordIsForPeople(t *testing.T) {
	w := newWork(t)
	w.item.Deciding = []string{"--x264-params=a<b&c"}
	r := w.finish("result")
	e2e.Must(t, WriteRecord(w.root, r))
	text, err := os.ReadFile(RecordPath(w.root, w.item.Output))
	e2e.Must(t, err)
	e2e.Contains(t, string(text), "\n  \"output\": \"x/a.mkv\",\n", `"--x264-params=a<b&c"`, `"state": "done"`, `"attempts": 1`, `"size": 10`)
	if strings.Contains(string(text), `"temp"`) || strings.Contains(string(text), "0001-01-01") {
		t.Errorf("noise in\n%s", text)
	}
}

func TestLongNames(t *testing.T) {
	w := newWork(t)
	seen := map[string]bool{}
	for _, stem := range []string{strings.Repeat("x", 251), strings.Repeat("x", 250) + "y", strings.Repeat("日", 83) + "zz"} {
		w.item.Output = stem + ".mkv"
		w.finish("result")
		w.want(Done, "")
		seen[RecordPath(w.root, w.item.Output)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d records", len(seen))
	}
}

func TestRecordsOfNothing(t *testing.T) {
	e2e.Must(t, Records(filepath.Join(t.TempDir(), "none"), func(*Record, error) { t.Error("called") }))
}

// A link in the place of any folder on the way leads no output out of the folder that it must stay
// in, whenever it was put there; one that stays inside is followed.
func TestOutputsStayWithin(t *testing.T) {
	for _, swapped := range []string{"share/out", "share/out/sub", "share/out/.vidfilter", "share/out/.vidfilter/jobs", "share/out/.vidfilter/jobs/sub", "share/out/work"} {
		for _, step := range []string{"", afterFinishing, afterRename} {
			for _, inside := range []bool{false, true} {
				t.Run(swapped+" "+step, func(t *testing.T) {
					dir := tree(t, "source", "victim/old", "share/other/old", "share/out/work/a.temp", "share/out/sub/old")
					root := filepath.Join(dir, "share", "out")
					r := Begin(Item{Source: filepath.Join(dir, "source"), Output: "sub/a.mkv"}, Finding{Digest: "d"}, version, time.Now())
					var err error
					r.SourceFile, err = FingerprintOf(r.Source)
					e2e.Must(t, err)
					e2e.Must(t, WriteRecord(root, r))
					f := newFinisher(Outputs{Root: root, Within: filepath.Join(dir, "share")}, false)
					swap := func(at string) error {
						if at == step {
							to := filepath.Join(dir, "victim")
							if inside { // such links are relative
								up := strings.Repeat("../", strings.Count(swapped, "/")-1)
								to = up + "other"
								e2e.Must(t, os.Rename(filepath.Join(dir, swapped), filepath.Join(dir, "share/was")))
								e2e.Must(t, os.Remove(filepath.Join(dir, "share/other/old")))
								e2e.Must(t, os.Remove(filepath.Join(dir, "share/other")))
								e2e.Must(t, os.Rename(filepath.Join(dir, "share/was"), filepath.Join(dir, "share/other")))
							} else {
								e2e.Must(t, os.RemoveAll(filepath.Join(dir, swapped)))
							}
							e2e.Must(t, os.Symlink(to, filepath.Join(dir, swapped)))
						}
						return nil
					}
					f.stop = swap
					e2e.Must(t, swap(""))
					_, err = f.finish(r, filepath.Join(root, "work", "a.temp"))
					if inside && (err != nil || !exists(filepath.Join(root, "sub/a.mkv"))) {
						t.Errorf("inside: %v", err)
					}
					names, e := os.ReadDir(filepath.Join(dir, "victim"))
					if e2e.Must(t, e); len(names) != 1 {
						t.Errorf("%v is outside; %v", names, err)
					}
				})
			}
		}
	}
}
