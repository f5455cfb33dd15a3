package tasks

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// honest is a job as a batch submits it, in a shared folder.
func honest(shared string) (queue.Job, Spec) {
	s := Spec{
		Protocol: queue.Protocol,
		Item:     batch.Item{Source: shared + "/in/a.mkv", Output: "b/a.mkv", Args: []string{"--radius=3"}, Deciding: []string{"--radius=3"}},
		Settings: Settings{Root: shared + "/out", Segment: 60, Threads: 8, Shared: shared},
	}
	s.Record = batch.Record{Output: s.Item.Output, Source: s.Item.Source, State: batch.RecordRunning, Version: "one"}
	return queue.Job{ID: "a-0123", Site: "here-one"}, s
}

// sharing is a worker with that folder.
func sharing(shared, work string) *Runner {
	return &Runner{Version: "one", Sites: []string{"here-one"}, Shared: shared, Work: work, Options: func(_ string, args []string) (all, deciding []string, err error) {
		flags := pflag.NewFlagSet("job", pflag.ContinueOnError)
		flags.Int("radius", 3, "")
		table := cli.NewTable(flags, "Files")
		table.Add(cli.String(new(string), "FILE"), "output", "o", "", cli.NotInBatch("a batch has a root"))
		table.Add(cli.NewValue(new(int), "N", cli.IntIn(0, 9)), "threads", "", "", cli.Neutral)
		return batch.Canonical(flags, args)
	}}
}

func described(t *testing.T, j queue.Job, s Spec) queue.Job {
	t.Helper()
	b, err := json.Marshal(s)
	e2e.Must(t, err)
	j.Spec = b
	return j
}

// named is a task with its kind, as a batch submits it.
func named(name string) queue.Task {
	kind, _, _ := strings.Cut(name, "-")
	return queue.Task{Name: name, Kind: kind}
}

// A machine does only jobs in its shared folder and parts that come through the store.
func TestAdmit(t *testing.T) {
	shared, elsewhere, work := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{shared + "/in", shared + "/out", elsewhere + "/b"} {
		e2e.Must(t, os.MkdirAll(dir, 0o777))
	}
	for link, to := range map[string]string{"in/leaves.mkv": "/etc/hostname", "outer": elsewhere, "out/leaves": elsewhere} {
		e2e.Must(t, os.Symlink(to, filepath.Join(shared, link)))
	}
	for name, c := range map[string]struct {
		change func(j *queue.Job, s *Spec)
		task   string
		refuse string // "" to take it
	}{
		"shared":                  {func(*queue.Job, *Spec) {}, "whole", ""},
		"a mount elsewhere":       {func(_ *queue.Job, s *Spec) { *s = moved(*s, shared, "/srv/there") }, "cut-0001", ""},
		"a part in the store":     {func(j *queue.Job, s *Spec) { j.Site, s.Remote = "other-one", true }, "part-0001", ""},
		"whole of another":        {func(j *queue.Job, s *Spec) { j.Site, s.Remote = "other-one", true }, "whole", "not in the folder"},
		"a cut of another":        {func(j *queue.Job, s *Spec) { j.Site, s.Remote = "other-one", true }, "cut-0001", "not in the folder"},
		"no task":                 {func(*queue.Job, *Spec) {}, "part-../../x", "another version"},
		"the root of the machine": {func(_ *queue.Job, s *Spec) { s.Root = "/" }, "whole", "not below its folder"},
		"a root above":            {func(_ *queue.Job, s *Spec) { s.Root += "/../.." }, "whole", "not below its folder"},
		"a root behind a link":    {func(_ *queue.Job, s *Spec) { s.Root = shared + "/outer" }, "whole", "escapes"},
		"a source elsewhere":      {func(_ *queue.Job, s *Spec) { s.setSource("/etc/hostname") }, "cut-0000", "not below its folder"},
		"a source behind a link":  {func(_ *queue.Job, s *Spec) { s.setSource(shared + "/in/leaves.mkv") }, "whole", "escapes"},
		"an output above":         {func(_ *queue.Job, s *Spec) { s.setOutput("../../x.mkv") }, "whole", "do not fit"},
		"an output behind a link": {func(_ *queue.Job, s *Spec) { s.setOutput("leaves/x.mkv") }, "whole", "escapes"},
		"the batch's own files":   {func(_ *queue.Job, s *Spec) { s.setOutput(".vidfilter/lock") }, "whole", "do not fit"},
		"another record":          {func(_ *queue.Job, s *Spec) { s.Record.Output = "../x" }, "whole", "do not fit"},
		"a record with a file":    {func(_ *queue.Job, s *Spec) { s.Record.Temp = "in/a.mkv" }, "whole", "do not fit"},
		"an older protocol":       {func(_ *queue.Job, s *Spec) { s.Protocol = queue.OldestProtocol - 1 }, "whole", "which knows"},
		"a newer protocol":        {func(_ *queue.Job, s *Spec) { s.Protocol = queue.Protocol + 1 }, "whole", "which knows"},
		"an output option":        {func(_ *queue.Job, s *Spec) { s.Item.Args = []string{"--output=/x"} }, "whole", "cannot be an option"},
		"no such option":          {func(_ *queue.Job, s *Spec) { s.Item.Args = []string{"--radios=3"} }, "whole", "unknown option"},
		"an argument":             {func(_ *queue.Job, s *Spec) { s.Item.Args = []string{"radius"} }, "whole", "unexpected argument"},
		"not as it is written":    {func(_ *queue.Job, s *Spec) { s.Item.Args = []string{"--radius", "3"} }, "whole", "not as a batch writes"},
		"a part of an option":     {func(_ *queue.Job, s *Spec) { s.Item.Deciding = nil }, "whole", "not as a batch writes"},
		"endless parts":           {func(_ *queue.Job, s *Spec) { s.Segment = -1 }, "plan", "parts of"},
		"endless threads":         {func(_ *queue.Job, s *Spec) { s.Threads = 1 << 40 }, "plan", "threads"},
	} {
		j, s := honest(shared)
		c.change(&j, &s)
		k, err := sharing(shared, work).admit(described(t, j, s), named(c.task))
		switch {
		case c.refuse == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refuse == "" && (!strings.HasPrefix(k.base, shared) && k.base != work || k.base == work && k.spec.Item.Source != ""):
			t.Errorf("%s: it works in %s on %q", name, k.base, k.spec.Item.Source)
		case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (s *Spec) setSource(name string) { s.Item.Source, s.Record.Source = name, name }
func (s *Spec) setOutput(name string) { s.Item.Output, s.Record.Output = name, name }

func moved(s Spec, from, to string) Spec {
	s.Shared, s.Root = to, strings.Replace(s.Root, from, to, 1)
	s.setSource(strings.Replace(s.Item.Source, from, to, 1))
	return s
}

// A batch does its own jobs as submitted, even if the queue's records differ.
func TestAdmitOwn(t *testing.T) {
	root := t.TempDir()
	own, spec := honest(root)
	own = described(t, own, spec)
	r := &Runner{Version: "one", Sites: []string{"here-one"}, Own: func(id string) (queue.Job, bool) {
		switch id {
		case own.ID:
			return own, true
		case "soon":
			return queue.Job{}, true
		}
		return queue.Job{}, false
	}}
	forged, evil := own, spec
	evil.Root, evil.Item.Args = "/", []string{"--output=/x"}
	forged = described(t, forged, evil)
	if k, err := r.admit(forged, named("whole")); err != nil || k.spec.Root != spec.Root || !slices.Equal(k.spec.Item.Args, spec.Item.Args) {
		t.Errorf("%+v, %v", k, err)
	}
	forged.ID = "other"
	if _, err := r.admit(forged, named("whole")); !queue.IsPermanent(err) {
		t.Errorf("a job of nobody: %v", err)
	}
	forged.ID = "soon"
	if _, err := r.admit(forged, named("whole")); err == nil || queue.IsPermanent(err) {
		t.Errorf("a job that is not submitted yet: %v", err)
	}
}

// Tasks without a matching kind are from another version: a session starts such jobs over.
func TestUnknownTask(t *testing.T) {
	own, spec := honest(t.TempDir())
	own = described(t, own, spec)
	r := &Runner{Version: "one", Own: func(string) (queue.Job, bool) { return own, true }}
	for _, task := range []queue.Task{{Name: "whole"}, {Name: "whole", Kind: "part"}, {Name: "part-1", Kind: "part"}, {Name: "fly", Kind: "fly"}} {
		_, err := r.Handle(t.Context(), own, task, func(queue.Progress) {})
		if !errors.Is(err, ErrUnknownTask) || !queue.IsPermanent(err) || !mayRenew(queue.Failure{Code: queue.CodeOf(err)}) {
			t.Errorf("%+v: %v, code %q", task, err, queue.CodeOf(err))
		}
	}
}

// Bodies and results name only files of their own job.
func TestBody(t *testing.T) {
	k := &task{job: queue.Job{ID: "a"}, task: named("part-0007")}
	for body, ok := range map[string]bool{
		`{"start":0,"end":9,"frames":3,"blob":"a/in/0007"}`:  true,
		`{"start":0,"end":9,"frames":3,"blob":"b/in/0007"}`:  false,
		`{"start":0,"end":9,"frames":3,"blob":"a/out/0007"}`: false,
		`{"start":0,"end":9,"frames":3}`:                     false, // there is no source
		`{"start":9,"end":0,"frames":3,"blob":"a/in/0007"}`:  false,
		`{"start":0,"end":9,"frames":-3,"blob":"a/in/0007"}`: false,
		`[]`: false,
	} {
		k.task.Body = json.RawMessage(body)
		if _, err := k.body(); (err == nil) != ok || err != nil && !queue.IsPermanent(err) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, c := range []struct {
		left PartResult
		ok   bool
	}{
		{PartResult{File: "part-0001.1-ABC234.mp4", Outcome: contract.Outcome{Frames: 5, Seconds: 1}}, true},
		{PartResult{Blob: "a/out/0001.1-ABC234"}, true},
		{PartResult{File: "../../secret.mp4"}, false},
		{PartResult{File: "part-0001.1-A.mp4\n/etc/passwd"}, false},
		{PartResult{Blob: "b/out/0001.1-ABC234"}, false},
		{PartResult{Blob: "a/out/../../x"}, false},
		{PartResult{File: "part-0001.1-A.mp4", Blob: "a/out/0001.1-A"}, false},
		{PartResult{}, false},
		{PartResult{Blob: "a/out/0001.1-A", Outcome: contract.Outcome{Frames: -1}}, false},
		{PartResult{Blob: "a/out/0001.1-A", Outcome: contract.Outcome{Seconds: -1}}, false},
	} {
		if err := c.left.check("a"); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.left, err)
		}
	}
}
