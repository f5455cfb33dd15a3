package batchrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"vidfilter/batch/display"
	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/internal/wake"
)

// follower shows a batch that runs elsewhere.
type follower struct {
	id       string
	engine   queue.Engine
	requests queue.Requests
	screen   *display.Display

	mu   sync.Mutex
	open map[string]bool // jobs that have not ended
}

// follow shows a batch as vidfilter batch does, and ends like it.
func (o *JobsOptions) follow(s terminal.Stdio) error {
	ctx, stop := terminal.UntilSignal()
	defer stop()
	e, err := o.connect(jetstream.Options{Log: terminal.NewLogger(s.Err, false)}, "jobs", 0)
	if err != nil {
		return err
	}
	defer e.Close()
	f := &follower{id: o.Follow, engine: e, requests: requestsOf(e), open: map[string]bool{}}
	if f.requests == nil {
		return cli.Usagef("vidfilter jobs --watch lists the jobs of another queue", "--follow is for the batches of vidfilter serve")
	}
	if _, err := f.requests.Request(ctx, f.id); err != nil {
		return hint.Wrap(fmt.Errorf("follow %s: %w", f.id, err), "vidfilter jobs --server URL lists the batches")
	}
	f.screen = display.New(terminal.NewScreen(s, terminal.ScreenOptions{Progress: "auto", Patient: true}), display.Options{Sums: sums})
	defer f.screen.Close()
	end, err := f.run(ctx)
	f.screen.Close()
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.Err, end.Table)
	if end.Exit == contract.ExitDone {
		return err
	}
	reason := cmp.Or(end.Reason, "the batch is "+string(end.State)) // observers see no reason
	return hint.Says(reason, end.Hint, contract.Class(end.Exit))
}

// run follows the batch to its end.
func (f *follower) run(ctx context.Context) (queue.Ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		if err := f.engine.Watch(ctx, f.update, func() {}); err != nil && ctx.Err() == nil {
			cancel(err)
		}
	})
	for range wake.Soon(ctx, time.Second) {
		s, err := f.requests.Request(ctx, f.id)
		switch {
		case errors.Is(err, queue.ErrNoRequest):
			return queue.Ending{}, errors.New("the batch was removed")
		case err != nil && ctx.Err() == nil:
			return queue.Ending{}, err
		case err == nil && s.State.Ended():
			f.settle(ctx)
			return s.Ending, nil
		case err == nil:
			f.screen.Note(s.Waits)
			f.ahead(ctx, s)
		}
	}
	err := context.Cause(ctx)
	if errors.As(err, new(terminal.Interruption)) {
		err = hint.Wrap(err, "the batch goes on; the same command shows it again")
	}
	return queue.Ending{}, err
}

func (f *follower) update(s queue.Status) {
	if queue.BatchOf(s.Job.ID) != f.id {
		return
	}
	f.mu.Lock()
	if f.open[s.Job.ID] = true; s.State.Ended() {
		delete(f.open, s.Job.ID)
	}
	f.mu.Unlock()
	f.screen.Update(s)
}

// ahead shows the files that are not in the queue yet.
func (f *follower) ahead(ctx context.Context, s queue.RequestStatus) {
	workers, err := f.engine.Workers(ctx)
	if err != nil {
		return
	}
	for _, w := range workers {
		if w.Name == s.Worker || strings.HasSuffix(w.Name, ":"+f.id) {
			f.screen.Ahead(w.Backlog)
		}
	}
}

// settle waits a while for the ends of the last jobs.
func (f *follower) settle(ctx context.Context) {
	for range 20 {
		f.mu.Lock()
		n := len(f.open)
		f.mu.Unlock()
		if wake.Sleep(ctx, 100*time.Millisecond) != nil || n == 0 {
			return
		}
	}
}
