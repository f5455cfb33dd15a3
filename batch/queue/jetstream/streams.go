package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// streams is the task source of an engine.
type streams struct {
	e         *Engine
	sites     []string             // tokens, in order of priority
	from      []jetstream.Consumer // by class, then by site
	turn      int
	returning sync.WaitGroup // of messages that arrived too late
}

func (s *streams) open(ctx context.Context, w queue.Worker) (time.Duration, error) {
	s.sites = nil
	for _, site := range w.Sites {
		s.sites = append(s.sites, siteToken(site))
	}
	if w.Any {
		s.sites = append(s.sites, anySite)
	}
	if err := s.consumers(ctx); err != nil {
		return 0, err
	}
	return s.from[0].CachedInfo().Config.AckWait, nil
}

// consumers opens the consumers: tasks of started jobs come first.
func (s *streams) consumers(ctx context.Context) error {
	var from []jetstream.Consumer
	for _, class := range classes {
		for _, site := range s.sites {
			c, err := s.e.consumer(ctx, class, site)
			if err != nil {
				return err
			}
			from = append(from, c)
		}
	}
	s.from = from
	return nil
}

// lastTurn is the turn in which tasks of jobs with a priority come last, so that others go on.
const lastTurn = 4

// next implements taskSource. It recreates consumers that somebody has deleted.
func (s *streams) next(ctx context.Context) (message, error) {
	from, first := s.from, len(s.sites)
	if s.turn++; s.turn%lastTurn == 0 {
		from = slices.Concat(from[first:], from[:first])
	}
	for _, c := range from {
		m, err := s.fetchOne(ctx, c)
		if m != nil {
			return m, nil
		}
		if err == nil || ctx.Err() != nil || !s.e.nc.IsConnected() {
			continue
		}
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		again := s.consumers(try)
		cancel()
		if again != nil {
			return nil, fmt.Errorf("%w: %w", err, again)
		}
		break
	}
	return nil, nil
}

// fetchOne returns a message that is available now, or nil.
func (s *streams) fetchOne(ctx context.Context, c jetstream.Consumer) (jetstream.Msg, error) {
	b, err := c.FetchNoWait(1)
	if err != nil {
		return nil, err
	}
	select {
	case m := <-b.Messages():
		if m == nil {
			return nil, b.Error()
		}
		return m, nil
	case <-ctx.Done():
		s.returning.Go(func() { // a message in transit goes to another worker
			if m := <-b.Messages(); m != nil {
				_ = m.Nak()
			}
		})
		return nil, ctx.Err()
	}
}

func (s *streams) context(ctx context.Context, _ *attempt) context.Context { return ctx }

func (s *streams) take(ctx context.Context, a *attempt) error {
	a.e = s.e
	return a.take(ctx)
}

func (s *streams) wanted(ctx context.Context, a *attempt) error { return a.wanted(ctx) }

func (s *streams) settle(ctx context.Context, a *attempt, end ending) error {
	return a.settle(ctx, end)
}

func (s *streams) progress(_ context.Context, a *attempt, now queue.Active) {
	if b, err := json.Marshal(now); err == nil { // else a float is not a number
		s.e.publishEvent(eventProgress, a.c, b)
	}
}

func (s *streams) present(ctx context.Context, id string, now *queue.WorkerStatus) error {
	return s.e.present(ctx, id, now)
}

func (e *Engine) present(ctx context.Context, id string, now *queue.WorkerStatus) error {
	if now == nil {
		return e.workers.Purge(ctx, id)
	}
	b, err := json.Marshal(now)
	if err == nil {
		_, err = e.workers.Put(ctx, id, b)
	}
	return err
}

func (s *streams) tidy(ctx context.Context) {
	s.e.sweepLoop(ctx)
	s.returning.Wait()
	s.close()
}

// close ends the consumers that nobody else uses, since every folder has its own.
func (s *streams) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, c := range s.from {
		i, err := c.Info(ctx)
		if err == nil && i.NumAckPending == 0 && i.NumPending == 0 && i.NumWaiting == 0 {
			_ = s.e.tasks.DeleteConsumer(ctx, i.Name) // else it ends by itself
		}
	}
}

func (e *Engine) sweepLoop(ctx context.Context) {
	for ctx.Err() == nil {
		if err := e.Sweep(ctx); err != nil && ctx.Err() == nil && e.nc.IsConnected() && !errors.Is(err, context.DeadlineExceeded) {
			e.o.Log.Warn(err.Error())
		}
		_ = wake.Sleep(ctx, 2*e.o.AckWait+rand.N(2*e.o.AckWait)) // spread the workers' sweeps
	}
}
