package batchrun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/batch/status"
	"vidfilter/batch/tally"
	"vidfilter/batch/tasks"
	"vidfilter/denoise/noise"
	"vidfilter/encode"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
)

// Each job is one line with its known details.
func TestPrintJobs(t *testing.T) {
	l := status.List{Note: "the disk is full", Jobs: []tally.Job{
		{ID: "1", Title: "a.mkv", State: queue.Running, Part: new(0.456), FPS: 12.34, Parts: &tally.Parts{All: 4, Done: 1}, Left: new(75.0)},
		{ID: "2", Title: "b\nc.mkv", State: queue.Done, Frames: 1, FPS: 8},
		{ID: "3", Title: "d.mkv", State: queue.Failed, Frames: 0, Reason: "no video in it"},
		{ID: "4", Title: "e.mkv", State: queue.Queued},
		{ID: "5-b", Batch: "b", Title: "f.mkv", State: queue.Running, User: "ann", Submitted: new(time.Now().Add(-89500 * time.Millisecond)), Stored: 38e6, Alone: true, Waits: queue.Unserved},
		{ID: "6-b", Batch: "b", Title: "g.mkv", State: queue.Queued, Waits: "all workers are at work"},
		{ID: "7", Title: "h.mkv", State: queue.Running, Active: []tally.Active{{Task: "join", Worker: "mars", Note: "the disk is full"}}},
	}}
	l.Totals.Waiting = 2
	var b strings.Builder
	e2e.Must(t, printJobs(&b, l, []queue.RequestStatus{{Request: queue.Request{ID: "c--ann", Root: "/out", User: "ann"}, State: queue.Queued, Waits: "no agent", Submitted: time.Now().Add(-89500 * time.Millisecond)}, {State: queue.Done}}, true, 3))
	want := `running   a.mkv  45%  1/4 parts, 12.3 fps, 1:15 left  [1]
done      b\u000ac.mkv  1 frame, 8.0 fps  [2]
failed    d.mkv  no video in it  [3]
queued    e.mkv  [4]
queued    g.mkv  all workers are at work  [6-b]
running   h.mkv  join on mars  the disk is full  [7]
standing still, since no connected worker has its files: run its batch again:
running   f.mkv  of ann  1:30 old  38.0 MB in the store  [5-b]
batch c--ann: 0 jobs to do  waits: no agent  into /out  of ann  1:30 old
batch b: 2 jobs to do
7 jobs: 2 queued, 3 running, 1 done, 1 failed
2 jobs more to come
3 jobs more, done or cancelled before: --state done lists them
the disk is full
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := printJobs(&b, status.List{}, nil, false, 0); err != nil || b.String() != "0 jobs: none\nno batch is running here\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// An action is for the job with an ID, or for those jobs of a batch that it applies to.
func TestActions(t *testing.T) {
	all := []tally.Job{{ID: "a-1--ann", Batch: "1--ann"}, {ID: "b-1--ann", Batch: "1--ann"}, {ID: "c-1--ann", Batch: "1--ann", State: queue.Done}, {ID: "d-2", Batch: "2"}}
	var did []string
	var mu sync.Mutex
	do := action{done: "gone", applies: func(s queue.State) bool { return !s.Ended() }, do: func(id, batch string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		did = append(did, id+" "+batch)
		return map[string]string{"d-2": "it waits"}[id], nil
	}}
	for id, want := range map[string]struct{ did, says string }{
		"1--ann": {"a-1--ann 1--ann,b-1--ann 1--ann", "2 jobs of 1--ann: gone"}, "c-1--ann": {"c-1--ann ", "c-1--ann is gone"},
		"2": {"d-2 2", "1 job of 2: gone, but it waits"}, "other": {"other ", "other is gone"},
	} {
		did = nil
		var b strings.Builder
		if err := do.of(id, all, nil, terminal.Stdio{Err: &b}); err != nil || strings.Join(slices.Sorted(slices.Values(did)), ",") != want.did || b.String() != "vidfilter: "+want.says+"\n" {
			t.Errorf("%s: %q, %q, %v", id, did, b.String(), err)
		}
	}
}

// A new default, such as --hwaccel's, changes no digest, which covers only options that are given.
func TestDefaultsDecideNothing(t *testing.T) {
	if _, deciding, err := jobOptions("a.mkv", nil); err != nil || len(deciding) > 0 {
		t.Errorf("without options %q decide: %v", deciding, err)
	}
	if _, deciding, err := jobOptions("a.mkv", []string{"--hwaccel=none"}); err != nil || !slices.Equal(deciding, []string{"--hwaccel=none"}) {
		t.Errorf("with one %q decide: %v", deciding, err)
	}
}

// The last error of a batch counts files, and is a damage error only if no file failed.
func TestVerdict(t *testing.T) {
	good, failed := batch.Row{State: tasks.RowDone}, batch.Row{State: tasks.RowFailed}
	damaged := batch.Row{State: tasks.RowDamaged, Outcome: contract.Outcome{Damaged: true}}
	lossy := batch.Row{State: tasks.RowDamaged, Outcome: contract.Outcome{Differences: []contract.Difference{{Item: "tag x", From: "y", Lost: true}}}}
	told := batch.Row{State: tasks.RowDone, Outcome: contract.Outcome{Differences: []contract.Difference{{Item: "tag x", From: "y", Lost: true, Told: true}}}}
	for _, c := range []struct {
		rows    []batch.Row
		want    string
		damaged bool
	}{
		{nil, "", false},
		{[]batch.Row{good, good}, "", false},
		{[]batch.Row{good, damaged, damaged}, "2 sources damaged; the outputs hold everything readable", true},
		{[]batch.Row{good, lossy, told}, "1 output with losses; the reasons are above", true},
		{[]batch.Row{damaged, lossy}, "1 source damaged, 1 output with losses; the reasons are above", true},
		{[]batch.Row{good, told}, "", false},
		{[]batch.Row{failed, lossy}, "1 file failed, 1 output with losses", false},
		{[]batch.Row{failed, good, {State: tasks.RowCancelled}}, "2 files failed", false},
		{[]batch.Row{failed, damaged}, "1 file failed, 1 source damaged", false},
	} {
		err, said := verdict(c.rows), ""
		if err != nil {
			said = err.Error()
		}
		if said != c.want || errors.Is(err, encode.ErrDamaged) != c.damaged {
			t.Errorf("%v: %q, want %q", c.rows, said, c.want)
		}
	}
	if h := hint.Of(verdict([]batch.Row{failed})); !strings.Contains(h, "--retry-failed") {
		t.Errorf("hint %q", h)
	}
}

// TestProfileIsCarried: a job has the noise profile itself, for workers that lack the file.
func TestProfileIsCarried(t *testing.T) {
	name := filepath.Join(t.TempDir(), "reel.json")
	e2e.Must(t, os.WriteFile(name, noise.Flat(3).Profile(), 0o666))
	fs := NewBatchOptions().Flags()
	e2e.Must(t, fs.Parse([]string{"-o", "out", "--noise-profile", name}))
	all, deciding, err := batch.Canonical(job.NewOptions().Flags(), cli.Given(fs, BatchGroup))
	if err != nil || len(all) != 1 || !slices.Equal(all, deciding) || !strings.HasPrefix(all[0], `--noise-profile={"vidfilter_noise":1,`) {
		t.Errorf("%v, %v", all, err)
	}
}

// A job gets the options that were given, in the form --name=value, without the batch's own.
func TestMediaArguments(t *testing.T) {
	o := NewBatchOptions()
	fs := o.Flags()
	e2e.Must(t, fs.Parse(strings.Fields("-o out --jobs 3 --strength 1.50 --crf=20 --luma-only --map 0:1 --map 0:2 films")))
	o.Take(fs, fs.Args())
	if want := []string{"--strength=1.50", "--luma-only=true", "--crf=20", "--map=0:1", "--map=0:2"}; !slices.Equal(o.args, want) {
		t.Errorf("arguments %q, want %q", o.args, want)
	}
	if !slices.Equal(o.Files, []string{"films"}) || !o.given["jobs"] || o.given["retries"] {
		t.Errorf("files %q, given %v", o.Files, o.given)
	}
}

// The command line wins over the job file.
func TestFromFile(t *testing.T) {
	o := NewBatchOptions()
	fs := o.Flags()
	e2e.Must(t, fs.Parse([]string{"--jobs", "3"}))
	o.Take(fs, nil)
	set := func(name, value string) error {
		return o.fromFile([]batch.Setting{{Name: name, Value: value, Where: "jobs.yaml:4"}})
	}
	if err := errors.Join(set("jobs", "7"), set("retries", "9")); err != nil || o.Jobs != 3 || o.Retries != 9 {
		t.Errorf("%d jobs, %d retries, %v", o.Jobs, o.Retries, err)
	}
	if err := set("retries", "many"); err == nil || !strings.HasPrefix(err.Error(), "jobs.yaml:4: retries: ") {
		t.Errorf("error %v", err)
	}
}

func TestSpansAndSizes(t *testing.T) {
	for s, want := range map[string]time.Duration{"90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "30d": 720 * time.Hour, "0": 0} {
		if got, err := parseSpan(s); got != want || err != nil {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "-1", "-1s", "-1d", "d", "1e10", "ten", "NaN"} {
		if got, err := parseSpan(s); err == nil {
			t.Errorf("the time %q is %v", s, got)
		}
	}
	for s, want := range map[string]int64{"500MB": 5e8, "2.5 G": 25e8, "7": 7, "1tb": 1e12} {
		if got, err := parseBytes(s); got != want || err != nil {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "GB", "-1", "1 MiB", "1e30", "5gbk", "NaN"} {
		if got, err := parseBytes(s); err == nil {
			t.Errorf("the size %q is %d", s, got)
		}
	}
}

// A requested number of slots is used as it is. The default is at least one and limited by memory.
func TestSlots(t *testing.T) {
	if n := slots(7, 0, 4); n != 7 {
		t.Errorf("%d slots, 7 asked", n)
	}
	if few, many := slots(0, 0, 4), slots(0, 1000, 4); few < 1 || many < few || many == 1000 {
		t.Errorf("%d slots without a GPU, %d with a thousand", few, many)
	}
	for outputs, want := range map[string]int{"a.png b.JPG": 1, "a.png b.mkv": coresPerJob, "a.mkv": coresPerJob} {
		b := &batchJob{o: NewBatchOptions(), plan: new(batch.Plan)}
		for _, name := range strings.Fields(outputs) {
			b.plan.Items = append(b.plan.Items, batch.Item{Output: name})
		}
		if got := b.cores(); got != want {
			t.Errorf("%s: %d cores a file, want %d", outputs, got, want)
		}
	}
	here, there := &batchJob{o: NewBatchOptions(), slots: 3}, &batchJob{o: NewBatchOptions(), slots: 3}
	there.o.Server = "tls://queue"
	if a, b := here.window(), there.window(); a != 4 || b != 28 {
		t.Errorf("windows %d and %d", a, b)
	}
	if n := there.threads(); n != remoteThreads {
		t.Errorf("%d threads for other machines", n)
	}
	there.o.media.Threads = 5
	if n := there.threads(); n != 5 {
		t.Errorf("%d threads, 5 asked", n)
	}
}

// Jobs side by side share the machine, and one alone has all.
func TestMachineIsShared(t *testing.T) {
	for n, want := range map[int]string{1: "", 2: "2", 5: "5"} {
		p := programOf("off", []string{"VIDFILTER_SHARERS=7", "HOME=/"}, n, 0)
		if got := cli.Lookup(p.Env, "VIDFILTER_SHARERS"); got != want {
			t.Errorf("%d jobs: %q, want %q", n, got, want)
		}
	}
}
