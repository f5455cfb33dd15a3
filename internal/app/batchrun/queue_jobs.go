package batchrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/batch/status"
	"vidfilter/batch/tally"
	"vidfilter/batch/tasks"
)

// queueJobs follows the jobs of a queue.
type queueJobs struct {
	engine   queue.Engine
	end      context.CancelFunc
	watching sync.WaitGroup
	began    time.Time
	silence  *time.Timer // runs while no job is heard of

	mu    sync.Mutex
	tally *tally.Tally
	err   error // why the watch has ended
}

// answerTime is how long a queue may take to answer, or to list the next job.
const answerTime = time.Minute

// watchQueue returns the jobs of a queue once it has heard of all of them.
func watchQueue(e queue.Engine) (*queueJobs, error) {
	ctx, cancel := context.WithCancel(context.Background())
	q := &queueJobs{engine: e, end: cancel, tally: tally.New(sums), silence: time.NewTimer(answerTime)}
	defer q.silence.Stop()
	ready, ended := make(chan struct{}), make(chan struct{})
	q.watching.Go(func() {
		defer close(ended)
		err := e.Watch(ctx, q.update, sync.OnceFunc(func() { close(ready) }))
		q.mu.Lock()
		defer q.mu.Unlock()
		q.err = err
	})
	select {
	case <-ready:
		q.began = time.Now()
		return q, nil
	case <-ended:
		q.stop()
		return nil, q.err
	case <-q.silence.C:
		q.stop()
		return nil, errors.New("the queue does not answer")
	}
}

// left returns how many jobs the list leaves out.
func (q *queueJobs) left() int {
	if e, ok := q.engine.(interface{ Left() int }); ok {
		return e.Left()
	}
	return 0
}

func (q *queueJobs) stop() {
	q.end()
	q.watching.Wait()
}

func (q *queueJobs) update(s queue.Status) {
	q.silence.Reset(answerTime)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tally.Update(time.Now(), s)
}

func (q *queueJobs) list() (status.List, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	workers, err := q.engine.Workers(ctx)
	if err != nil {
		return status.List{}, err
	}
	sizes, err := q.engine.Blobs().Sizes(ctx)
	if err != nil {
		return status.List{}, err
	}
	q.hear(workers)
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.tally.Ahead(queue.Backlogs(workers))
	jobs := q.tally.Jobs(now, nil)
	for i, j := range jobs {
		jobs[i].Stored = sizes[j.ID]
		jobs[i].Wait(workers)
	}
	return status.List{Count: len(jobs), Jobs: jobs, Totals: q.tally.Totals(now, false), Note: heldNote(workers)}, q.err
}

// hearWithin is how long workers may take to report. They do so at least every second.
const hearWithin = 1200 * time.Millisecond

// hear waits at the beginning until all tasks at work are known.
func (q *queueJobs) hear(workers []queue.WorkerStatus) {
	busy := 0
	for _, w := range workers {
		busy += w.Busy
	}
	for time.Since(q.began) < hearWithin {
		q.mu.Lock()
		known := 0
		for _, j := range q.tally.Jobs(time.Now(), func(s queue.Status) bool { return s.State == queue.Running }) {
			known += len(j.Active)
		}
		q.mu.Unlock()
		if known >= busy {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// heldNote names the workers that take no tasks.
func heldNote(workers []queue.WorkerStatus) string {
	var held []string
	for _, w := range workers {
		if w.Held != "" {
			held = append(held, fmt.Sprintf("the worker %s takes no tasks: %s", w.Name, w.Held))
		}
	}
	return strings.Join(held, "; ")
}

func (q *queueJobs) cancel(id, reason string) error {
	return tasks.Cancel(context.Background(), q.engine, id, reason)
}

func (q *queueJobs) retry(id string) (waits string, err error) {
	if err := tasks.Retry(context.Background(), q.engine, id); err != nil {
		return "", err
	}
	return tasks.Waits(context.Background(), q.engine, id)
}

func (q *queueJobs) pause(id string, on bool) error {
	name, of := strings.CutPrefix(id, ofWorker)
	if !of && id != pki.All {
		return q.engine.Pause(context.Background(), id, on)
	}
	e, ok := q.engine.(interface {
		PauseWorkers(ctx context.Context, name string, on bool) error
	})
	if !ok {
		return errors.New("only the workers of vidfilter serve are paused")
	}
	return e.PauseWorkers(context.Background(), name, on)
}

// batches returns the batches of a queue of vidfilter serve, and nil for other queues.
func (q *queueJobs) batches() ([]queue.RequestStatus, error) {
	requests := requestsOf(q.engine)
	if requests == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	all, err := requests.Requests(ctx)
	if errors.Is(err, queue.ErrRefused) { // an older server
		return nil, nil
	}
	return all, err
}

func (q *queueJobs) log(id string) (string, error) { return q.engine.Log(context.Background(), id) }

func (q *queueJobs) remove(id string) error { return tasks.Remove(context.Background(), q.engine, id) }

func (q *queueJobs) give(id, to string) error {
	e, ok := q.engine.(interface {
		Give(ctx context.Context, id, to string) error
	})
	if !ok {
		return errors.New("only jobs in the queue of vidfilter serve are handed over")
	}
	return e.Give(context.Background(), id, to)
}
