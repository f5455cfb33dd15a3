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

// Batches returns the batches by ID.
func (t *Tally) Batches() map[string]Batch {
	all := map[string]Batch{}
	for _, j := range t.order {
		if id := queue.BatchOf(j.s.Job.ID); !j.gone && id != "" {
			b := all[id]
			b.ID, b.User = id, j.s.Job.User
			b.count(j.s)
			all[id] = b
		}
	}
	return all
}

func (b *Batch) count(s queue.Status) {
	if s.Submitted.After(b.Latest) {
		b.Latest = s.Submitted
	}
	switch {
	case s.State == queue.Done:
		b.Done++
	case s.State == queue.Cancelled:
		b.Cancelled++
	case s.State.HasFailed():
		b.Failed++
	default:
		b.Open++
		if s.Paused {
			b.Paused++
		}
		if s.Job.Priority > 0 {
			b.First++
		}
	}
}

// Facts describes the jobs of a batch, such as "12 to do, 2 paused, 1 failed".
func (b Batch) Facts() string {
	return text.List(text.Some(b.Open, "to do"), text.Some(b.Paused, "paused"), text.Some(b.Failed, "failed"),
		text.Some(b.Cancelled, "cancelled"), text.Some(b.Done, "done"))
}
