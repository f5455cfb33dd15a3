package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
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
	// Messages before records: at worst a task is queued twice, which has no effect.
	there, err := e.queued(ctx)
	if err != nil {
		return fmt.Errorf("queue: tasks: %w", err)
	}
	return e.eachUnsettled(ctx, there, func(r *record) error {
		err := e.mend(ctx, r, there)
		if errors.Is(err, errNoResult) || errors.Is(err, errMalformed) { // it cannot be continued
			reason := err.Error()
			err = e.end(ctx, r.Job.ID, func(now *record) bool { return now.Epoch == r.Epoch }, func(now *record) { now.end(queue.Failed, reason) })
		}
		return err
	})
}

// eachUnsettled calls f with the records of jobs that may have to be mended.
func (e *Engine) eachUnsettled(ctx context.Context, there map[claim]bool, f func(r *record) error) error {
	if e.unsettled == nil {
		return e.each(ctx, e.jobs, jetstream.AllKeys, func(s entry) error { return f(decodeRecord(s.key, s.value)) })
	}
	for _, s := range e.unsettled() {
		if s.Value != nil && isSettled(decodeRecord(s.Key, s.Value), there) {
			continue
		}
		r, _, err := e.get(ctx, s.Key)
		if errors.Is(err, queue.ErrNoJob) {
			continue
		}
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isSettled(r *record, there map[claim]bool) bool {
	return len(r.Old) == 0 && (!r.live() || allThere(r, there))
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

type entry struct {
	key   string
	value []byte
	at    time.Time
}

func (s entry) Key() string   { return s.key }
func (s entry) Value() []byte { return s.value }

// each calls f with the entries of a bucket that there are now.
func (e *Engine) each(ctx context.Context, b bucket, keys string, f func(entry) error) error {
	prefix := b.subject("")
	var all []entry
	at := map[string]int{}
	err := latest(ctx, b.stream, prefix+keys, func(m *jetstream.RawStreamMsg) {
		key := strings.TrimPrefix(m.Subject, prefix)
		i, again := at[key]
		switch gone := isGone(m.Header); {
		case again && gone:
			all[i] = entry{}
			delete(at, key)
		case again:
			all[i] = entry{key, m.Data, m.Time}
		case !gone:
			at[key] = len(all)
			all = append(all, entry{key, m.Data, m.Time})
		}
	})
	for _, s := range all {
		if err == nil && s.key != "" {
			err = f(s)
		}
	}
	return wrapf(err, "queue: reading %s", b.Bucket())
}

// isGone reports whether a message says that an entry was removed.
func isGone(h nats.Header) bool { return h.Get("KV-Operation") != "" }

// latest calls f with the last message of each subject, in the order of the stream. A subject may
// come again with a later one. Any replica delivers most of them, which is quicker than to ask the
// leader for each.
func latest(ctx context.Context, s jetstream.Stream, subjects string, f func(*jetstream.RawStreamMsg)) error {
	last, err := deliver(ctx, s, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: subjects}, math.MaxUint64, f)
	if err != nil {
		return err
	}
	_, err = after(ctx, s, last, subjects, f)
	return err
}

// after calls f with the messages after a sequence number that the leader has, and returns the
// number of the last one.
func after(ctx context.Context, s jetstream.Stream, last uint64, subjects string, f func(*jetstream.RawStreamMsg)) (uint64, error) {
	for {
		m, err := s.GetMsg(ctx, last+1, jetstream.WithGetMsgSubject(subjects))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return last, nil
		} else if err != nil {
			return last, err
		}
		last = m.Sequence
		f(m)
	}
}

// deliver calls f with the messages of a consumer that there are now, at least those up to a
// sequence number, and returns the number of the last one.
func deliver(ctx context.Context, s jetstream.Stream, of jetstream.ConsumerConfig, to uint64, f func(*jetstream.RawStreamMsg)) (last uint64, err error) {
	of.AckPolicy, of.InactiveThreshold, of.MemoryStorage, of.Replicas = jetstream.AckNonePolicy, time.Minute, true, 1
	c, err := s.CreateConsumer(ctx, of)
	if err != nil {
		return 0, err
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.DeleteConsumer(late, c.CachedInfo().Name) // else it ends by itself
	}()
	last = max(of.OptStartSeq, 1) - 1
	patience := time.Now().Add(2 * time.Second)
	for left := int(c.CachedInfo().NumPending); left > 0 && last < to; {
		b, err := c.FetchNoWait(int(min(uint64(left), 256, to-last)))
		if err != nil {
			return last, err
		}
		n := 0
		for m := range b.Messages() {
			n++
			if about, bad := m.Metadata(); bad == nil {
				last = max(last, about.Sequence.Stream)
				f(&jetstream.RawStreamMsg{Subject: m.Subject(), Sequence: about.Sequence.Stream, Header: m.Headers(), Data: m.Data(), Time: about.Timestamp})
			}
		}
		err = cmp.Or(b.Error(), ctx.Err())
		if n == 0 && errors.Is(err, nats.ErrNoResponders) && time.Now().Before(patience) {
			time.Sleep(50 * time.Millisecond) // a cluster starts the consumer after it has answered
			continue
		}
		if err != nil || n == 0 {
			return last, err
		}
		left -= n
	}
	return last, nil
}

// dropOrphans removes pieces of files that were never completed, if no piece was added for the time
// idle.
func (e *Engine) dropOrphans(ctx context.Context, idle time.Duration) error {
	pieces := "$O." + e.names.blobs() + ".C."
	info, err := e.files.Info(ctx, jetstream.WithSubjectFilter(pieces+">"))
	if err != nil {
		return fmt.Errorf("queue: files: %w", err)
	}
	whole := map[string]bool{}
	if len(info.State.Subjects) > 0 {
		err = blobs{e}.each(ctx, func(o jetstream.ObjectInfo) { whole[o.NUID] = true })
	}
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if whole[strings.TrimPrefix(subject, pieces)] {
			continue
		}
		last, err := e.files.GetLastMsgForSubject(ctx, subject)
		if err != nil || time.Since(last.Time) < idle {
			continue
		}
		if err := e.files.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("queue: files: %w", err)
		}
	}
	return nil
}

// dropSpoiled removes the messages of tasks that no worker would get, since the disk has spoiled
// them, or they are still at the site of the job's former owner. Sweep queues the tasks again.
func (e *Engine) dropSpoiled(ctx context.Context) error {
	info, err := e.tasks.Info(ctx, jetstream.WithSubjectFilter(e.names.allTasks()))
	if err != nil {
		return fmt.Errorf("queue: tasks: %w", err)
	}
	for subject := range info.State.Subjects {
		m, err := e.tasks.GetLastMsgForSubject(ctx, subject)
		switch {
		case err == nil && e.isQueuedWell(ctx, m):
			continue
		case errors.Is(err, jetstream.ErrMsgNotFound):
			e.o.Log.Warn("queue: the task " + subject + " is spoiled, and will be queued again")
		case err != nil:
			continue
		}
		if err := e.tasks.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("queue: tasks: %w", err)
		}
	}
	return nil
}

// isQueuedWell reports whether the workers of a task's site will find its message.
func (e *Engine) isQueuedWell(ctx context.Context, m *jetstream.RawStreamMsg) bool {
	var t queue.Task
	c, err := fromSubject(m.Subject)
	if err != nil || json.Unmarshal(m.Data, &t) != nil {
		return true // the worker that takes it removes it
	}
	r, _, err := e.get(ctx, c.job)
	return err != nil || strings.Contains(m.Subject, "."+e.token(r.Job.User, t.Site)+".")
}
