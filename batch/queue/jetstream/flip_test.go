package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// sound handles jobs of two parts with known results. The join reads them from the queue, like a
// real one.
func sound(e *Engine, until string) queue.Handler {
	return func(ctx context.Context, j queue.Job, t queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if t.Name == until {
			<-ctx.Done()
			return queue.Outcome{}, ctx.Err()
		}
		o := queue.Outcome{Result: json.RawMessage(fmt.Sprintf("%q", j.ID+"/"+t.Name))}
		switch t.Name {
		case "plan":
			o.Next = []queue.Task{{Name: "part-0000", Kind: "part"}, {Name: "part-0001", Kind: "part"}}
			o.Then = &queue.Task{Name: "join"}
		case "join":
			all, err := e.Results(ctx, j.ID)
			if err != nil {
				return o, err
			}
			for _, part := range []string{"part-0000", "part-0001"} {
				if got := string(all[part]); got != fmt.Sprintf("%q", j.ID+"/"+part) {
					return o, queue.Permanent(fmt.Errorf("the result of %s is %s", part, got))
				}
			}
			o.Result, o.End = soundResult(j.ID), true
		}
		return o, nil
	}
}

func soundResult(job string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf("%q", job+"/whole"))
}

// soundState makes the folder of a queue with a finished job, one at work and one that waits.
func soundState(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	e, err := Embedded(dir, quick)
	e2e.Must(t, err)
	stop := work(t, e, queue.Worker{}, sound(e, ""))
	submit(t, e, queue.Job{ID: "done"}, false)
	awaitEnd(t, e, "done")
	stop()
	stop = work(t, e, queue.Worker{}, sound(e, "part-0001"))
	submit(t, e, queue.Job{ID: "begun"}, false)
	await(t, e, "begun", "at work", func(s queue.Status) bool { return s.Finished == 2 })
	stop()
	submit(t, e, queue.Job{ID: "waiting"}, false)
	e2e.Must(t, e.Blobs().Put(t.Context(), "begun/in/0001", strings.NewReader("packets")))
	e2e.Must(t, e.Close())
	return dir
}

// Damage to any file of the store never yields a false result, and resubmitted jobs get done.
func TestSpoiled(t *testing.T) {
	from := soundState(t)
	var files []string
	e2e.Must(t, filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "lock" {
			rel, _ := filepath.Rel(from, name)
			files = append(files, rel)
		}
		return err
	}))
	if len(files) < 15 {
		t.Fatalf("the store has only %q", files)
	}
	ways := map[string]func(b []byte) []byte{
		"a bit in the middle": func(b []byte) []byte { return flip(b, len(b)/2) },
		"cut":                 func(b []byte) []byte { return b[:len(b)*2/3] },
		"gone":                func([]byte) []byte { return nil },
	}
	if os.Getenv("VIDFILTER_KILLS") != "" { // the long run
		ways["a bit at the start"] = func(b []byte) []byte { return flip(b, len(b)/50) }
		ways["a bit at the end"] = func(b []byte) []byte { return flip(b, len(b)-1) }
		ways["empty"] = func([]byte) []byte { return []byte{} }
	}
	for _, name := range files {
		for how, spoil := range ways {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				spoiled(t, from, name, spoil)
			})
		}
	}
}

func flip(b []byte, at int) []byte {
	if len(b) > 0 {
		b[at] ^= 0x10
	}
	return b
}

func spoiled(t *testing.T, from, name string, spoil func([]byte) []byte) {
	dir := filepath.Join(t.TempDir(), "queue")
	e2e.Must(t, os.CopyFS(dir, os.DirFS(from)))
	file := filepath.Join(dir, name)
	b := e2e.Read(t, file)
	if b = spoil(b); b == nil {
		e2e.Must(t, os.Remove(file))
	} else {
		e2e.Must(t, os.WriteFile(file, b, 0o666))
	}
	o := quick
	o.Log = logTo(t.Output())
	begun := time.Now()
	e, err := Embedded(dir, o)
	if err != nil {
		t.Fatalf("after %v: %v", time.Since(begun), err)
	}
	t.Cleanup(func() { _ = e.Close() })
	work(t, e, queue.Worker{Slots: 2}, sound(e, ""))
	for _, id := range []string{"done", "begun", "waiting"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := e.Submit(ctx, queue.Job{ID: id, First: queue.Task{Name: "plan"}}, true)
		cancel()
		if err != nil {
			t.Fatalf("submit %s: %v", id, err)
		}
	}
	for _, id := range []string{"done", "begun", "waiting"} {
		s := awaitEnd(t, e, id)
		if s.State == queue.Failed { // reported, and the next submission succeeds
			t.Logf("%s failed: %s", id, s.Explain())
			e2e.Must(t, e.Submit(t.Context(), queue.Job{ID: id, Digest: "again", First: queue.Task{Name: "plan"}}, true))
			s = await(t, e, id, "done", func(s queue.Status) bool { return s.State == queue.Done })
		}
		if s.State != queue.Done || string(s.Result) != string(soundResult(id)) {
			t.Errorf("%s: %+v", id, s)
		}
	}
}
