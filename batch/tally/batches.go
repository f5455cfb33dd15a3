package tally

import (
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/text"
)

// Batch counts the jobs of a batch. Those that are done and not kept are missing; see Options.Keep.
// The JSON names are stable.
type Batch struct {
	ID        string    `json:"id"` // see queue.BatchOf
	User      string    `json:"user,omitempty"`
	Open      int       `json:"open"`   // jobs that have not ended
	Paused    int       `json:"paused"` // of the open ones
	First     int       `json:"first"`  // of the open ones, with a priority above 0
	Failed    int       `json:"failed"` // quarantined ones among them
	Cancelled int       `json:"cancelled"`
	Done      int       `json:"done"`
	Latest    time.Time `json:"latest"` // submission
}

// Batches returns the batches, in no order.
func (t *Tally) Batches() []Batch {
	all := make([]Batch, 0, len(t.batches))
	for _, b := range t.batches {
		all = append(all, *b)
	}
	return all
}

// enter counts a job in its batch, until leave.
func (t *Tally) enter(j *job) {
	id := queue.BatchOf(j.s.Job.ID)
	if id == "" {
		return
	}
	b := t.batches[id]
	if b == nil {
		b = &Batch{ID: id}
		t.batches[id] = b
	}
	if b.User = j.s.Job.User; j.s.Submitted.After(b.Latest) {
		b.Latest = j.s.Submitted
	}
	j.entered = true
	b.count(j.s, 1)
}

func (t *Tally) leave(j *job) {
	if !j.entered {
		return
	}
	j.entered = false
	id := queue.BatchOf(j.s.Job.ID)
	b := t.batches[id]
	if b.count(j.s, -1); b.Open+b.Failed+b.Cancelled+b.Done == 0 {
		delete(t.batches, id)
	}
}

func (b *Batch) count(s queue.Status, n int) {
	switch {
	case s.State == queue.Done:
		b.Done += n
	case s.State == queue.Cancelled:
		b.Cancelled += n
	case s.State.HasFailed():
		b.Failed += n
	default:
		b.Open += n
		if s.Paused {
			b.Paused += n
		}
		if s.Job.Priority > 0 {
			b.First += n
		}
	}
}

// Facts describes the jobs of a batch, such as "12 to do, 2 paused, 1 failed".
func (b Batch) Facts() string {
	return text.List(text.Some(b.Open, "to do"), text.Some(b.Paused, "paused"), text.Some(b.Failed, "failed"),
		text.Some(b.Cancelled, "cancelled"), text.Some(b.Done, "done"))
}
