package batch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// A batch killed at random moments and restarted until it ends leaves exactly the outputs of an
// undisturbed one. VIDFILTER_KILLS sets the number of kills.
func TestKilled(t *testing.T) {
	e2e.Start(t, true)
	kills := 10
	if testing.Short() {
		kills = 4
	}
	if n, err := strconv.Atoi(os.Getenv("VIDFILTER_KILLS")); err == nil {
		kills = n
	}
	in := folder(t, "a.mp4", "b.mkv", "sub/c.mov=c.mov", "short.mp4")
	intact := untouched(t, in)
	alone := filepath.Join(t.TempDir(), "alone")
	begun := time.Now()
	run(t, 0, in, "-o", alone)
	whole := time.Since(begun)
	want := contents(t, alone)
	tidy(t, alone)
	if len(want) != 4 {
		t.Fatalf("outputs %v", want)
	}
	for name := range want {
		playable(t, filepath.Join(alone, name))
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d kills, seed %d, undisturbed %v", kills, seed, whole)
	k := &killing{t: t, in: in, want: want, whole: whole, struck: map[string]int{}, rand: rand.New(rand.NewPCG(seed, 1))}
	for k.kills < kills {
		k.round(kills)
	}
	intact()
	t.Logf("%d kills in %d batches; killed in each of %v", k.kills, k.rounds, k.struck)
}

type killing struct {
	t      *testing.T
	in     string
	want   map[string]string
	whole  time.Duration
	rand   *rand.Rand
	kills  int
	rounds int
	struck map[string]int // kills by the running task
}

// round kills a batch and restarts it until it ends.
func (k *killing) round(most int) {
	t := k.t
	t.Helper()
	k.rounds++
	out := filepath.Join(t.TempDir(), fmt.Sprint("out", k.rounds))
	stop := guard(t, out, k.want)
	jobs := strconv.Itoa(1 + k.rand.IntN(3))
	done := map[string]int{} // parts reported before the kill, by job
	for {
		b := begin(t, job(k.in, "-o", out, "--jobs", jobs, "--progress", "json")...)
		if k.kills < most && k.comes(b, out) {
			b.kill()
		}
		if !b.Killed {
			b.end(0)
		} else {
			k.kills++
		}
		k.goneOn(b, done)
		if !b.Killed {
			break
		}
	}
	stop()
	same(t, out, k.want)
	records(t, out, len(k.want))
	e2e.Contains(t, run(t, 0, k.in, "-o", out), fmt.Sprintf("%d skipped", len(k.want)))
}

// comes waits for a random moment and reports whether it came before the end.
func (k *killing) comes(b *batch, out string) bool {
	var moment func() bool
	begun := time.Now()
	switch after := time.Duration(k.rand.Int64N(int64(k.whole))); k.rand.IntN(5) {
	case 0: // while it begins
		after /= 10
		fallthrough
	default:
		moment = func() bool { return time.Since(begun) > after }
	case 1: // when an output gets its name
		n := outputs(out)
		moment = func() bool { return outputs(out) > n }
	case 2: // when a part is finished
		n := finishedParts(out)
		moment = func() bool { return finishedParts(out) > n }
	case 3: // soon after a task of this kind has begun
		task := fmt.Sprintf(`"task":"%s`, []string{"plan", "whole", "join"}[k.rand.IntN(3)])
		var seen time.Time
		moment = func() bool {
			if seen.IsZero() && strings.Contains(b.Err.String(), task) {
				seen = time.Now()
			}
			return !seen.IsZero() && time.Since(seen) > after/20
		}
	}
	came := false
	e2e.Until(b.t, "the moment or the end", func() bool {
		ended := b.Ended()
		came = !ended && moment()
		return came || ended
	})
	return came
}

func outputs(out string) (n int) {
	_ = filepath.WalkDir(out, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".vidfilter" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	return n
}

func finishedParts(out string) int {
	all, _ := filepath.Glob(filepath.Join(out, ".vidfilter/work/*/part-*.mp4"))
	return len(all)
}

// goneOn fails the test if a part reported as done by an earlier run was done again.
func (k *killing) goneOn(b *batch, done map[string]int) {
	k.t.Helper()
	parts := map[string]map[string]bool{} // running ones, by job
	last := map[string]event{}
	for _, e := range b.events() {
		if e.Type != "job" {
			continue
		}
		last[e.Job.ID] = e
		for _, a := range e.Job.Active {
			if strings.HasPrefix(a.Task, "part-") {
				if parts[e.Job.ID] == nil {
					parts[e.Job.ID] = map[string]bool{}
				}
				parts[e.Job.ID][a.Task] = true
			}
		}
	}
	for id, e := range last {
		if b.Killed {
			for _, a := range e.Job.Active {
				k.struck[strings.SplitN(a.Task, "-", 2)[0]]++
			}
		}
		if e.Job.Parts == nil {
			continue
		}
		if n := len(parts[id]); n > e.Job.Parts.All-done[id] {
			k.t.Errorf("%s: %d of %d parts were done, and %d were at work after the kill", id, done[id], e.Job.Parts.All, n)
		}
		done[id] = max(done[id], e.Job.Parts.Done)
	}
}

// guard watches a folder: a file with the name of an output must be that output, whole, at any
// time.
func guard(t *testing.T, out string, want map[string]string) (stop func()) {
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		seen := map[string]time.Time{}
		for {
			select {
			case <-quit:
				return
			case <-time.After(3 * time.Millisecond):
			}
			for name, hashed := range want {
				path := filepath.Join(out, name)
				i, err := os.Stat(path)
				if err != nil || seen[name].Equal(i.ModTime()) {
					continue
				}
				seen[name] = i.ModTime()
				if data, err := os.ReadFile(path); err == nil && hash(data) != hashed {
					t.Errorf("%s was there before it was whole", name)
				}
			}
		}
	})
	return func() { close(quit); watching.Wait() }
}

// records fails the test unless all records are done.
func records(t *testing.T, out string, n int) {
	t.Helper()
	found := 0
	e2e.Must(t, filepath.WalkDir(filepath.Join(out, ".vidfilter/jobs"), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		if !strings.Contains(string(e2e.Read(t, name)), `"state": "done"`) {
			t.Errorf("%s: %s", name, e2e.Read(t, name))
		}
		return nil
	}))
	if found != n {
		t.Errorf("%d records of %d outputs", found, n)
	}
}
