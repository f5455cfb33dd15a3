// Package tally adds up the work of a queue's jobs: how far each one and the whole are, how fast,
// and how long the rest will take. The terminal and the status page show the same numbers.
//
// Speeds count only work that was observed. Work that was there at the first sight of a job, or
// that a task found done by an earlier run, counts as done but not as speed.
package tally

import (
	"cmp"
	"slices"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/rate"
)

// Options of a Tally. The functions may be nil. They run under the caller's lock, if any, and
// must not block.
type Options struct {
	// Weigh returns the size of a job's source in bytes, 0 if unknown. It weighs jobs whose
	// frames are not counted.
	Weigh func(queue.Job) int64

	// Frames returns the frames of a job's source, or of its result if it is done; 0 if unknown.
	Frames func(queue.Status) int64

	// Bytes returns the size of the result of a job that is done, 0 if unknown.
	Bytes func(queue.Status) int64

	// Keep is how many of the jobs that are done are kept whole, the latest; 0 is all. The others
	// are only counted: Job, Jobs and Since do not know them.
	Keep int
}

// Tally follows the jobs of a queue. It is not safe for concurrent use.
type Tally struct {
	o       Options
	jobs    map[string]*job
	order   []*job
	version uint64
	done    []*job // kept whole, the earliest first
	removed int    // in order
	past    past
	batches map[string]*Batch // by ID

	seen    amounts // observed work
	retries int64
	bytes   int64

	rate    rate.Meter
	whole   estimate
	backlog queue.Backlog
}

// New returns a tally without jobs.
func New(o Options) *Tally {
	return &Tally{o: o, jobs: map[string]*job{}, past: newPast(), batches: map[string]*Batch{}}
}

// Update takes a status of a job; the first one is its starting point. now must not go back. It
// returns the job as it was before; ok is false if it is new, was started over, or was removed.
func (t *Tally) Update(now time.Time, s queue.Status) (before Job, ok bool) {
	if s.State == queue.Removed {
		t.remove(s.Job.ID)
		return Job{}, false
	}
	j := t.jobs[s.Job.ID]
	if j != nil && j.dropped && s.State != queue.Done {
		t.done = slices.DeleteFunc(t.done, func(d *job) bool { return d == j })
		t.retire(j)
		j = nil
	}
	switch {
	case j != nil:
		before, ok = j.view(now), j.s.Job.Digest == s.Job.Digest
	case t.past.again(s): // heard before
		return Job{State: queue.Done}, true
	default:
		j = &job{}
		t.jobs[s.Job.ID] = j
		t.order = append(t.order, j)
	}
	t.leave(j)
	if !ok {
		*j = job{kept: j.kept}
	}
	t.version++
	j.version = t.version
	got := j.follow(now, s, ok)
	j.estimateSize(t.o)
	got = j.rest(got)
	j.forget()
	t.enter(j)
	t.keep(j)
	t.seen[byFrames] += float64(got.frames)
	t.seen[byBytes] += got.part * float64(j.weight)
	t.seen[byJobs] += got.part
	t.bytes += got.bytes
	t.retries += got.retries
	t.rate.Sample(now, t.seen)
	return before, ok
}

// keep makes room for another job that is done.
func (t *Tally) keep(j *job) {
	if j.s.State != queue.Done || j.kept || t.o.Keep == 0 {
		return
	}
	j.kept = true
	if t.done = append(t.done, j); len(t.done) <= t.o.Keep {
		return
	}
	old := t.done[0]
	t.done = t.done[1:]
	if old.kept = false; old.s.State == queue.Done { // else submitted again
		t.retire(old)
	}
}

// retire counts a job that is done, and keeps it no longer.
func (t *Tally) retire(j *job) {
	t.past.add(j)
	t.drop(j)
}

func (t *Tally) drop(j *job) {
	t.leave(j)
	delete(t.jobs, j.s.Job.ID)
	j.gone = true
	if t.removed++; t.removed > len(t.order)/8 {
		t.order = slices.DeleteFunc(t.order, func(j *job) bool { return j.gone })
		t.removed = 0
	}
}

func (t *Tally) remove(id string) {
	if j := t.jobs[id]; j != nil {
		t.done = slices.DeleteFunc(t.done, func(d *job) bool { return d == j })
		t.drop(j)
	} else {
		t.past.remove(id)
	}
}

// Knows reports whether a job was ever seen.
func (t *Tally) Knows(id string) bool { return t.jobs[id] != nil || t.past.knows(id) }

// Forget drops a job that is done. The totals still count it; if it comes again, it counts as
// another one.
func (t *Tally) Forget(id string) {
	if j := t.jobs[id]; j != nil {
		j.dropped = true // among the latest ones
		return
	}
	delete(t.past.jobs, t.past.hash(id))
}

// Ahead sets the backlog, which counts as waiting jobs.
func (t *Tally) Ahead(b queue.Backlog) { t.backlog = b }

func (t *Tally) Job(id string, now time.Time) (Job, bool) {
	if j := t.jobs[id]; j != nil {
		return j.view(now), true
	}
	return Job{}, false
}

// Jobs returns the jobs for which keep returns true, or all if keep is nil: running, failed,
// queued, cancelled, done, and within a state the latest first.
func (t *Tally) Jobs(now time.Time, keep func(queue.Status) bool) []Job {
	var all []*job
	for _, j := range t.order {
		if !j.gone && (keep == nil || keep(j.s)) {
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, compare)
	return views(all, now)
}

func views(all []*job, now time.Time) []Job {
	views := make([]Job, len(all))
	for i, j := range all {
		views[i] = j.view(now)
	}
	return views
}

// Since returns the jobs changed since a version, 0 for all, in the order of their changes, and
// the current version.
func (t *Tally) Since(version uint64, now time.Time) ([]Job, uint64) {
	var all []*job
	for _, j := range t.order {
		if j.version > version && !j.gone {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.version, b.version) })
	return views(all, now), t.version
}

// rank orders the states for display.
var rank = map[queue.State]int{queue.Running: 0, queue.Failed: 1, queue.Quarantined: 1, queue.Queued: 2, queue.Cancelled: 3, queue.Done: 4}

func compare(a, b *job) int {
	if c := cmp.Compare(rank[a.s.State], rank[b.s.State]); c != 0 {
		return c
	}
	if a.s.State.Ended() {
		return b.s.Ended.Compare(a.s.Ended)
	}
	return a.s.Submitted.Compare(b.s.Submitted)
}

// Version returns the current version for Since.
func (t *Tally) Version() uint64 { return t.version }
