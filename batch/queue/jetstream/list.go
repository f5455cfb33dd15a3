package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// listing is a request for the records that changed after a revision.
type listing struct {
	after  uint64
	size   int // bytes, about
	most   int // of jobs that are done or cancelled, the latest; 0 for all
	by     caller
	public func(queue.Job) queue.Job // removes the fields that only owners see; may be nil
}

type listPage struct {
	found   []storedRecord  // the oldest change first
	more    bool            // there are others, after the last of found
	left    int             // jobs that are left out because of most, if after is 0
	missing []missingRecord // those without their records
}

// missingRecord is a place in a page whose record the cache does not have.
type missingRecord struct {
	at     int
	hidden bool // only its public fields may be shown
}

func (c *recordCache) list(ctx context.Context, l listing) (listPage, error) {
	p := c.look(l)
	return p, c.fill(ctx, &p, l.public)
}

// look lists the jobs of the cache.
func (c *recordCache) look(l listing) (found listPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.latest(l.most)
	if l.after == 0 {
		for _, p := range c.order[:from] {
			if p.isOver() {
				found.left++
			}
		}
	}
	i, _ := slices.BinarySearchFunc(c.order, l.after+1, func(p *cachedRecord, at uint64) int { return cmp.Compare(p.At, at) })
	for k, p := range c.order[i:] {
		if p.stale || i+k < from && p.isOver() {
			continue
		}
		if l.size < 0 {
			found.more = true
			return found
		}
		r := p.storedRecord
		hidden := l.public != nil && !p.Gone && !l.by.ownsOf(p.user)
		switch {
		case !p.Gone && p.Value == nil:
			found.missing = append(found.missing, missingRecord{len(found.found), hidden})
		case hidden:
			if p.shown == nil {
				p.shown = publicRecord(p.Key, p.Value, l.public)
			}
			r.Value = p.shown
		}
		found.found = append(found.found, r)
		l.size -= int(p.size) + len(r.Key)
	}
	return found
}

// fill reads the records that the cache does not have. One that has changed since counts as gone:
// its latest state is later in the order.
func (c *recordCache) fill(ctx context.Context, p *listPage, public func(queue.Job) queue.Job) error {
	if len(p.missing) == 0 {
		return nil
	}
	values, err := c.load(ctx, p)
	if err != nil {
		return fmt.Errorf("queue: reading jobs: %w", err)
	}
	changed := false
	for _, s := range p.missing {
		r := &p.found[s.at]
		if r.Value = values[r.At]; r.Value == nil {
			r.Gone, changed = true, true
		} else if s.hidden {
			r.Value = publicRecord(r.Key, r.Value, public)
		}
	}
	if !changed {
		return nil
	}
	err = c.read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.more = p.more || c.order[len(c.order)-1].At > p.found[len(p.found)-1].At
	return err
}

// dense is how many messages may be read for one that is wanted: this is quicker than to ask for
// each.
const dense = 8

// load returns the records that a page lacks, by their revisions.
func (c *recordCache) load(ctx context.Context, p *listPage) (map[uint64][]byte, error) {
	values := map[uint64][]byte{}
	take := func(m *jetstream.RawStreamMsg) { values[m.Sequence] = m.Data }
	first, last := p.found[p.missing[0].at].At, p.found[p.missing[len(p.missing)-1].at].At
	if n := uint64(len(p.missing)); n > dense && last-first < n*dense {
		_, err := deliver(ctx, c.e.jobs.stream, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first}, last, take)
		return values, err
	}
	for _, s := range p.missing {
		m, err := c.e.jobs.stream.GetMsg(ctx, p.found[s.at].At)
		if err == nil {
			take(m)
		} else if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, err
		}
	}
	return values, nil
}

// publicRecord returns a record as others may see it.
func publicRecord(key string, value []byte, public func(queue.Job) queue.Job) []byte {
	r := decodeRecord(key, value)
	r.Job = public(r.Job)
	shown, _ := json.Marshal(r)
	return shown
}

// isOver reports whether the job is done or cancelled. There may be many.
func (p *cachedRecord) isOver() bool {
	return !p.stale && !p.Gone && (p.state == queue.Done || p.state == queue.Cancelled)
}

// latest returns the place in b.order before which jobs are left out, so that at most so many that
// are over stay; 0 is all.
func (c *recordCache) latest(most int) int {
	for k, n := len(c.order)-1, 0; k >= 0 && most > 0; k-- {
		if c.order[k].isOver() {
			if n++; n > most {
				return k + 1
			}
		}
	}
	return 0
}
