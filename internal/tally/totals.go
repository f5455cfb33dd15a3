package tally

import (
	"math"
	"time"

	"vidfilter/queue"
)

// Totals are the whole. The JSON names are stable, as those of Job are.
type Totals struct {
	Jobs      int `json:"jobs"` // all, of which
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Done      int `json:"done"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`

	Tasks    int   `json:"tasks"`    // steps known so far
	Finished int   `json:"finished"` // of them
	Active   int   `json:"active"`   // at work
	Retries  int64 `json:"retries"`  // how often a step was tried again

	Frames int64    `json:"frames"` // done, as far as it is known
	Total  *int64   `json:"total"`  // frames of all jobs that can be done; null as long as one of them is not counted
	FPS    float64  `json:"fps"`    // of the last seconds
	Bytes  int64    `json:"bytes"`  // written
	Part   *float64 `json:"part"`   // of what can be done: failed and cancelled jobs are left out; 0 to 1
	Left   *float64 `json:"left"`   // seconds; null until there is enough to judge by
}

// Counters only grow while the program runs: they count what was done before its eyes.
type Counters struct {
	Frames, Bytes, Retries int64
}

// Counters returns them.
func (t *Tally) Counters() Counters {
	return Counters{int64(t.seen[byFrames]), t.bytes, t.retries}
}

// The units in which the whole can be measured, from the one that says least of the work.
const (
	byJobs = iota
	byBytes
	byFrames
	units
)

type amounts [units]float64

// Totals returns the whole at a time. held says that something holds it up, so that the time left is not known.
func (t *Tally) Totals(now time.Time, held bool) Totals {
	t.rate.sample(now, t.seen)
	v, all, done, best := t.sum()
	v.FPS = rounded(t.rate.over(now, t.seen, calm)[byFrames])
	if held {
		t.rate.restart(now, t.seen)
	}
	if v.Queued+v.Running == 0 { // the next jobs may be others
		t.rate.restart(now, t.seen)
		t.whole = estimate{}
	}
	unit := t.whole.unit(best)
	if all[unit] > 0 {
		v.Part = new(rounded(min(1, done[unit]/all[unit])))
	}
	if speed := t.rate.long(now, t.seen); !held && speed[unit] > 0 && v.Running > 0 {
		v.Left = t.whole.left(now, (all[unit]-done[unit])/speed[unit])
	} else {
		t.whole.forget()
	}
	return v
}

// sum adds up the jobs: what there is and what is done in each unit, and the best unit in which all are known.
func (t *Tally) sum() (v Totals, all, done amounts, best int) {
	weighed, counted, number := 0, 0, 0
	var size int64
	for _, j := range t.order {
		v.count(j)
		if j.weight > 0 {
			size += j.weight
			weighed++
		}
	}
	var frames int64
	for _, j := range t.order {
		if j.s.State == queue.Failed || j.s.State == queue.Cancelled {
			continue
		}
		number++
		part := max(0, j.part())
		weight := float64(j.weight)
		if weight == 0 && weighed > 0 { // as the others are
			weight = float64(size) / float64(weighed)
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

// estimate is the time left, made calm: it runs down like a clock and drifts to what the last minutes say.
type estimate struct {
	fixed   bool
	in      int // the unit in which it is judged, once it is
	at      time.Time
	seconds float64
}

// unit returns the unit to judge in. It stays what it was when time left was first told, since another would make it jump, unless a
// new job is not known in it.
func (e *estimate) unit(best int) int {
	if !e.fixed {
		e.in = best
	}
	e.in = min(e.in, best)
	return e.in
}

// drift is how long the estimate takes to go two thirds of the way to another.
const drift = 15 * time.Second

func (e *estimate) left(now time.Time, seconds float64) *float64 {
	if e.at.IsZero() {
		e.at, e.seconds, e.fixed = now, seconds, true
	}
	passed := now.Sub(e.at).Seconds()
	e.at = now
	e.seconds = max(0, e.seconds-passed)
	e.seconds += (seconds - e.seconds) * (1 - math.Exp(-passed/drift.Seconds()))
	return sensible(e.seconds)
}

func (e *estimate) forget() { e.at = time.Time{} }
