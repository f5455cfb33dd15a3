package batchrun

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tasks"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
)

// atOnce is a queue in which every job is done as soon as it is submitted. Like a real one, it
// gives each watcher a copy of its own.
type atOnce struct {
	queue.Engine
	out    string // folder
	result json.RawMessage

	mu       sync.Mutex
	watchers map[int]chan queue.Status
	done     int
}

func (q *atOnce) Submit(_ context.Context, j queue.Job, _ bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := os.WriteFile(filepath.Join(q.out, j.Title), []byte("x"), 0o666); err != nil {
		return err
	}
	now := time.Now()
	s := queue.Status{Job: j, State: queue.Queued, Tasks: 1, Submitted: now}
	q.tell(s)
	s.State, s.Started = queue.Running, now
	q.tell(s)
	s.Active = []queue.Active{{Task: "whole", Kind: "whole", Attempt: 1, Worker: "here", Since: now, Progress: queue.Progress{Frames: 5, Total: 10, Bytes: 100, FPS: 30}}}
	q.tell(s)
	s.Active, s.State, s.Finished, s.Ended, s.Result = nil, queue.Done, 1, now, q.result
	q.tell(s)
	q.done++
	return nil
}

func (q *atOnce) tell(s queue.Status) {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	for _, w := range q.watchers {
		var own queue.Status
		if err := json.Unmarshal(b, &own); err != nil {
			panic(err)
		}
		w <- own
	}
}

func (q *atOnce) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done
}

func (q *atOnce) Watch(ctx context.Context, f func(queue.Status), live func()) error {
	all := make(chan queue.Status, 16)
	q.mu.Lock()
	id := len(q.watchers)
	q.watchers[id] = all
	q.mu.Unlock()
	live()
	for {
		select {
		case s := <-all:
			f(s)
		case <-ctx.Done():
			q.mu.Lock()
			delete(q.watchers, id)
			q.mu.Unlock()
			return ctx.Err()
		}
	}
}

func (q *atOnce) Get(context.Context, string) (queue.Status, error) {
	return queue.Status{}, queue.ErrNoJob
}
func (q *atOnce) Work(ctx context.Context, _ queue.Worker, _ queue.Handler) error {
	<-ctx.Done()
	return nil
}
func (q *atOnce) Workers(context.Context) ([]queue.WorkerStatus, error) { return nil, nil }
func (q *atOnce) Blobs() queue.Blobs                                    { return noBlobs{} }
func (q *atOnce) Close() error                                          { return nil }

type noBlobs struct{ queue.Blobs }

func (noBlobs) List(context.Context, string) ([]string, error) { return nil, nil }

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A batch that watches a folder may see 100,000 files. All that it keeps of one that is done and
// has left, with its page and its report, has a bound.
func TestDoneFilesAreSmall(t *testing.T) {
	const most = 350                         // bytes each: 235, a row of the report
	dir, err := os.MkdirTemp("/dev/shm", "") // syncs are free
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, d := range []string{in, out} {
		e2e.Must(t, os.Mkdir(d, 0o777))
	}
	o := NewBatchOptions()
	fs := o.Flags()
	e2e.Must(t, fs.Parse([]string{"--watch", in, "-o", out, "--settle", "1ms", "--status", "127.0.0.1:0", "--progress", "none"}))
	o.Take(fs, nil)
	res, err := json.Marshal(tasks.Result{Outcome: contract.Outcome{Frames: 10, Seconds: 1}, Size: 100})
	e2e.Must(t, err)
	q := &atOnce{watchers: map[int]chan queue.Status{}, result: res, out: out}
	b := &batchJob{o: o, s: terminal.Stdio{Out: io.Discard, Err: io.Discard}, began: time.Now(), ahead: map[string]int64{}, engine: q, site: "site"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if b.plan, err = o.expand(ctx, b.s); err != nil {
		t.Fatal(err)
	}
	b.openScreen()
	defer b.close()
	e2e.Must(t, os.Mkdir(filepath.Join(out, ".vidfilter"), 0o777))
	e2e.Must(t, b.openStatus(ctx))
	var working sync.WaitGroup
	working.Go(func() { _, err = b.work(ctx) })
	made := 0
	add := func(n int) int64 {
		for range n {
			name := fmt.Sprintf("%06d.mp4", made)
			made++
			e2e.Must(t, os.WriteFile(filepath.Join(in, name), []byte("x"), 0o666))
		}
		for q.count() < made {
			time.Sleep(time.Millisecond)
		}
		for i := range made {
			name := fmt.Sprintf("%06d.mp4", i)
			_ = os.Remove(filepath.Join(in, name))
			_ = os.Remove(filepath.Join(out, name))
		}
		time.Sleep(300 * time.Millisecond) // the folder is looked at again
		return heap()
	}
	const more = 1500
	few := add(more)
	each := (add(more) - few) / more
	stop()
	working.Wait()
	t.Logf("%d bytes each", each)
	if each > most {
		t.Errorf("a file that is done takes %d bytes, more than %d", each, most)
	}
}
