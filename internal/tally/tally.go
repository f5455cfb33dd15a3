// Package tally adds up what the jobs of a queue have done: how far each is and the whole, how fast it goes, and how long it
// will take. The terminal and the status page show the same numbers.
//
// Speeds are of work that was seen while it was done. What was there at the first sight of a job, and what a task says it found
// done by an earlier run, counts as done but not as speed.
package tally

import (
	"cmp"
	"slices"
	"time"

	"vidfilter/queue"
)

// Options of a Tally. Both functions may be nil, are called with the Tally's lock held, if it has one, and must not block.
type Options struct {
	// Weigh returns the bytes of a job's source, 0 when not known. By them jobs are weighed whose frames nobody has counted.
	Weigh func(queue.Job) int64

	// Frames returns how many frames a job's source has, or its result where it is done; 0 when not known.
	Frames func(queue.Status) int64
}

// Tally follows the jobs of a queue. It is not safe for concurrent use.
type Tally struct {
	o       Options
	jobs    map[string]*job
	order   []*job
	version uint64

	seen    amounts // done before our eyes
	retries int64
	bytes   int64

	rate  rate
	whole estimate
}

// New returns a tally without jobs.
func New(o Options) *Tally {
	return &Tally{o: o, jobs: map[string]*job{}}
}

// Update takes the status of a job: the first is where it stands, later ones are what has happened since. now must not go back.
// It returns the job as it was before, with ok false for one that is new or was begun anew.
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
		*j = job{tasks: map[string]*task{}, gone: map[string]*task{}}
	}
	t.version++
	j.version = t.version
	got := j.follow(now, s, ok)
	j.weigh(t.o)
	t.seen[byFrames] += float64(got.frames)
	t.seen[byBytes] += got.part * float64(j.weight)
	t.seen[byJobs] += got.part
	t.bytes += got.bytes
	t.retries += got.retries
	t.rate.sample(now, t.seen)
	return before, ok
}

// Job returns a job.
func (t *Tally) Job(id string, now time.Time) (Job, bool) {
	if j := t.jobs[id]; j != nil {
		return j.view(now), true
	}
	return Job{}, false
}

// Jobs returns the jobs that keep, or all if it is nil, in the order in which people look for them: those at work, failed,
// waiting, cancelled, and done, the latest first.
func (t *Tally) Jobs(now time.Time, keep func(queue.Status) bool) []Job {
	var all []*job
	for _, j := range t.order {
		if keep == nil || keep(j.s) {
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, compare)
	views := make([]Job, len(all))
	for i, j := range all {
		views[i] = j.view(now)
	}
	return views
}

// Since returns the jobs that have changed since the version that an earlier call returned, 0 for all, in the order of their changes.
func (t *Tally) Since(version uint64, now time.Time) ([]Job, uint64) {
	var all []*job
	for _, j := range t.order {
		if j.version > version {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.version, b.version) })
	views := make([]Job, len(all))
	for i, j := range all {
		views[i] = j.view(now)
	}
	return views, t.version
}

// rank orders the states for people.
var rank = map[queue.State]int{queue.Running: 0, queue.Failed: 1, queue.Queued: 2, queue.Cancelled: 3, queue.Done: 4}

func compare(a, b *job) int {
	if c := cmp.Compare(rank[a.s.State], rank[b.s.State]); c != 0 {
		return c
	}
	if a.s.State.Ended() {
		return b.s.Ended.Compare(a.s.Ended)
	}
	return a.s.Submitted.Compare(b.s.Submitted)
}

// Version returns what Since takes for what changes from now on.
func (t *Tally) Version() uint64 { return t.version }
