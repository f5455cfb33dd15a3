package tally

import (
	"math"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/rate"
)

// Totals are the sums over all jobs. The JSON names are stable.
type Totals struct {
	Jobs   int `json:"jobs"` // all; the next ones are among them
	Queued int `json:"queued"`
	// queued, but not submitted yet, so not among the jobs of a list
	Waiting   int `json:"waiting"`
	Running   int `json:"running"`
	Done      int `json:"done"`
	Failed    int `json:"failed"` // quarantined ones among them
	Cancelled int `json:"cancelled"`

	Quarantined int `json:"quarantined"`

	Tasks    int   `json:"tasks"`    // known so far
	Finished int   `json:"finished"` // of them
	Active   int   `json:"active"`   // at work
	Retries  int64 `json:"retries"`  // how often a task was retried

	Frames int64    `json:"frames"` // known to be done
	Total  *int64   `json:"total"`  // of all jobs that can be done; null until all are counted
	FPS    float64  `json:"fps"`    // over the last seconds
	Bytes  int64    `json:"bytes"`  // written
	Part   *float64 `json:"part"`   // done, 0 to 1, without failed and cancelled jobs
	Left   *float64 `json:"left"`   // seconds; null until there is enough to judge by
}

// Counters count observed work, and only grow. Frames that a task repeats count once.
type Counters struct {
	Frames, Bytes, Retries int64
}

// Counters returns the current counters.
func (t *Tally) Counters() Counters {
	return Counters{int64(t.seen[byFrames]), t.bytes, t.retries}
}

// Units of the whole, the least precise first.
const (
	byJobs = iota
	byBytes
	byFrames
)

type amounts = rate.Amounts

// shortWindow is for the speed shown: short enough to follow a change.
const shortWindow = 10 * time.Second

// Totals returns the sums at a time. blocked means that the work is held up, so that the time
// left is unknown.
func (t *Tally) Totals(now time.Time, blocked bool) Totals {
	t.rate.Sample(now, t.seen)
	v, all, done, best := t.sum()
	v.FPS = rate.Rounded(t.rate.Over(now, t.seen, shortWindow)[byFrames])
	if blocked {
		t.rate.Restart(now, t.seen)
	}
	if v.Queued+v.Running == 0 { // the next jobs may differ
		t.rate.Restart(now, t.seen)
		t.whole = estimate{}
	}
	unit := t.whole.unit(best)
	if all[unit] > 0 {
		v.Part = new(rate.Rounded(min(1, done[unit]/all[unit])))
	}
	if speed := t.rate.Long(now, t.seen); !blocked && speed[unit] > 0 && v.Running > 0 {
		v.Left = t.whole.left(now, (all[unit]-done[unit])/speed[unit])
	} else {
		t.whole.forget()
	}
	return v
}

// sum adds up all work and the work done in each unit, and returns the best unit in which every
// job is known.
func (t *Tally) sum() (v Totals, all, done amounts, best int) {
	p := &t.past
	n := p.n
	v = Totals{Jobs: n, Done: n, Tasks: p.tasks, Finished: p.tasks, Retries: int64(p.retried), Frames: p.frames, Bytes: p.bytes}
	weighed, counted, number := p.weighed, p.counted, n
	size := p.weight
	for _, j := range t.order {
		if j.gone {
			continue
		}
		v.count(j)
		if j.weight > 0 {
			size += j.weight
			weighed++
		}
	}
	average := 0.0 // is assumed where the weight is unknown
	if weighed > 0 {
		average = float64(size) / float64(weighed)
	}
	frames := p.frames
	all = amounts{byJobs: float64(n), byBytes: float64(p.weight) + average*float64(n-p.weighed), byFrames: float64(frames)}
	done = all
	for _, j := range t.order {
		if j.gone || j.s.State.HasFailed() || j.s.State == queue.Cancelled {
			continue
		}
		number++
		part := max(0, j.part())
		weight := float64(j.weight)
		if weight == 0 {
			weight = average
		}
		if j.total > 0 {
			counted++
		}
		frames += j.total
		for unit, w := range (amounts{byJobs: 1, byBytes: weight, byFrames: float64(j.total)}) {
			all[unit] += w
			done[unit] += w * part
		}
	}
	v.Retries = max(v.Retries, t.retries)
	if n := t.backlog.Jobs; n > 0 {
		v.Jobs, v.Queued, v.Waiting, v.Tasks = v.Jobs+n, v.Queued+n, n, v.Tasks+n
		number += n
		all[byJobs] += float64(n)
		all[byBytes] += float64(t.backlog.Bytes)
	}
	switch {
	case counted == number && number > 0:
		v.Total = new(frames)
		return v, all, done, byFrames
	case weighed > 0:
		return v, all, done, byBytes
	}
	return v, all, done, byJobs
}

func (v *Totals) count(j *job) {
	v.Jobs++
	switch j.s.State {
	case queue.Queued:
		v.Queued++
	case queue.Running:
		v.Running++
	case queue.Done:
		v.Done++
	case queue.Failed:
		v.Failed++
	case queue.Quarantined:
		v.Failed++
		v.Quarantined++
	case queue.Cancelled:
		v.Cancelled++
	}
	v.Tasks += j.s.Tasks
	v.Finished += j.s.Finished
	v.Active += len(j.s.Active)
	v.Retries += int64(j.s.Retried)
	v.Frames += j.done()
	v.Bytes += j.written()
}

// estimate is a smoothed time left: it runs down like a clock and drifts towards new estimates.
type estimate struct {
	fixed   bool
	in      int // unit, once fixed
	at      time.Time
	seconds float64
}

// unit returns the unit to judge in. It stays as it was when the time left was first shown, since
// a change would make it jump, unless a new job is unknown in it.
func (e *estimate) unit(best int) int {
	if !e.fixed {
		e.in = best
	}
	e.in = min(e.in, best)
	return e.in
}

// driftTime is how long the estimate takes to cover two thirds of a change.
const driftTime = 15 * time.Second

func (e *estimate) left(now time.Time, seconds float64) *float64 {
	if e.at.IsZero() {
		e.at, e.seconds, e.fixed = now, seconds, true
	}
	passed := now.Sub(e.at).Seconds()
	e.at = now
	e.seconds = max(0, e.seconds-passed)
	e.seconds += (seconds - e.seconds) * (1 - math.Exp(-passed/driftTime.Seconds()))
	return rate.Plausible(e.seconds)
}

func (e *estimate) forget() { e.at = time.Time{} }
