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
)

// Options of a Tally. The functions may be nil. They run under the caller's lock, if any, and
// must not block.
type Options struct {
	// Weigh returns the size of a job's source in bytes, 0 if unknown. It weighs jobs whose
	// frames nobody has counted.
	Weigh func(queue.Job) int64

	// Frames returns the frames of a job's source, or of its result if it is done; 0 if unknown.
	Frames func(queue.Status) int64

	// Bytes returns the size of the result of a job that is done, 0 if unknown.
	Bytes func(queue.Status) int64
}

// Tally follows the jobs of a queue. It is not safe for concurrent use.
type Tally struct {
	o       Options
	jobs    map[string]*job
	order   []*job
	version uint64

	seen    amounts // observed work
	retries int64
	bytes   int64

	rate    rate
	whole   estimate
	backlog queue.Backlog
}

// New returns a tally without jobs.
func New(o Options) *Tally {
	return &Tally{o: o, jobs: map[string]*job{}}
}

// Update takes a status of a job; the first one is its starting point. now must not go back. It
// returns the job as it was before; ok is false if it is new or was started over.
func (t *Tally) Update(now time.Time, s queue.Status) (before Job, ok bool) {
	j := t.jobs[s.Job.ID]
	if j != nil {
		before, ok = j.view(now), j.s.Job.Digest == s.Job.Digest
	}
	if j == nil {
		j = &job{}
		t.jobs[s.Job.ID] = j
		t.order = append(t.order, j)
	}
	if !ok {
		*j = newJob()
	}
	t.version++
	j.version = t.version
	got := j.follow(now, s, ok)
	j.weigh(t.o)
	got = j.rest(got)
	if s.State == queue.Done {
		j.forget()
	}
	t.seen[byFrames] += float64(got.frames)
	t.seen[byBytes] += got.part * float64(j.weight)
	t.seen[byJobs] += got.part
	t.bytes += got.bytes
	t.retries += got.retries
	t.rate.sample(now, t.seen)
	return before, ok
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
		if keep == nil || keep(j.s) {
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
		if j.version > version {
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
