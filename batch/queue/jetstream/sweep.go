package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// Sweep queues open tasks that are not in the queue, which a kill between two steps may cause,
// and removes old epochs. Workers call it at the start and now and then.
func (e *Engine) Sweep(ctx context.Context) error {
	if e.forgets.Load() {
		if err := e.jobs.PurgeDeletes(ctx, jetstream.DeleteMarkersOlderThan(e.o.AckWait)); err != nil {
			return fmt.Errorf("queue: forgotten jobs: %w", err)
		}
	}
	// Messages before records: at worst a task is queued twice, which does nothing.
	there, err := e.queued(ctx)
	if err != nil {
		return fmt.Errorf("queue: tasks: %w", err)
	}
	return e.eachJob(ctx, func(r *record) error {
		err := e.mend(ctx, r, there)
		if errors.Is(err, errNoResult) || errors.Is(err, errMalformed) { // nobody can continue it
			reason := err.Error()
			err = e.end(ctx, r.Job.ID, func(now *record) bool { return now.Epoch == r.Epoch }, func(now *record) { now.end(queue.Failed, reason) })
		}
		return err
	})
}

func (e *Engine) mend(ctx context.Context, r *record, there map[claim]bool) error {
	if err := e.forgetOld(ctx, r); err != nil {
		return err
	}
	if r.live() && !allThere(r, there) {
		return e.putOpen(ctx, r)
	}
	return nil
}

func allThere(r *record, there map[claim]bool) bool {
	for _, g := range r.Open {
		for _, task := range g.Left {
			if !there[r.claim(task)] {
				return false
			}
		}
	}
	return true
}

// queued returns the tasks that have a message in the stream.
func (e *Engine) queued(ctx context.Context) (map[claim]bool, error) {
	info, err := e.tasks.Info(ctx, jetstream.WithSubjectFilter(e.names.allTasks()))
	if err != nil {
		return nil, err
	}
	there := map[claim]bool{}
	for subject := range info.State.Subjects {
		// the worker that takes any other one removes it
		if c, err := fromSubject(subject); err == nil {
			there[c] = true
		}
	}
	return there, nil
}

// eachJob calls f with every job's record.
func (e *Engine) eachJob(ctx context.Context, f func(r *record) error) error {
	return e.each(ctx, e.jobs, jetstream.AllKeys, func(s entry) error {
		return f(decodeRecord(s.key, s.value))
	})
}

// entry is an entry of a bucket.
type entry struct {
	key   string
	value []byte
	at    time.Time
}

func (s entry) Key() string   { return s.key }
func (s entry) Value() []byte { return s.value }

// each calls f with the entries of a bucket that there are now.
func (e *Engine) each(ctx context.Context, b jetstream.KeyValue, keys string, f func(entry) error) error {
	prefix := "$KV." + b.Bucket() + "."
	err := e.latest(ctx, "KV_"+b.Bucket(), prefix+keys, func(m jetstream.Msg) error {
		about, err := m.Metadata()
		if err != nil || m.Headers().Get("KV-Operation") != "" {
			return err
		}
		return f(entry{strings.TrimPrefix(m.Subject(), prefix), m.Data(), about.Timestamp})
	})
	if err != nil {
		err = fmt.Errorf("queue: reading %s: %w", b.Bucket(), err)
	}
	return err
}

// latest calls f with the last message of each subject, in the order of the stream.
func (e *Engine) latest(ctx context.Context, stream, subjects string, f func(jetstream.Msg) error) error {
	s, err := e.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, AckPolicy: jetstream.AckNonePolicy, FilterSubject: subjects,
		InactiveThreshold: time.Minute, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return err
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.DeleteConsumer(late, c.CachedInfo().Name) // else it ends by itself
	}()
	for left := int(c.CachedInfo().NumPending); left > 0; {
		b, err := c.FetchNoWait(min(left, 256))
		if err != nil {
			return err
		}
		n := 0
		for m := range b.Messages() {
			n++
			if err == nil {
				err = f(m)
			}
		}
		if err = cmp.Or(err, b.Error(), ctx.Err()); err != nil || n == 0 {
			return err
		}
		left -= n
	}
	return nil
}
