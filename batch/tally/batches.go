package tally

import (
	"cmp"
	"slices"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/text"
)

// Batch is the jobs of a batch. Those that are done and not kept are missing; see Options.Keep.
// The JSON names are stable.
type Batch struct {
	ID      string    `json:"id"` // see queue.BatchOf
	User    string    `json:"user,omitempty"`
	Open    int       `json:"open"`   // jobs that have not ended
	Paused  int       `json:"paused"` // of the open ones
	First   int       `json:"first"`  // of the open ones, with a priority above 0
	Failed  int       `json:"failed"` // quarantined ones among them
	Stopped int       `json:"cancelled"`
	Done    int       `json:"done"`
	Latest  time.Time `json:"latest"` // submission
}

// Batches returns the batches, those with open jobs first, and the latest first among them.
func (t *Tally) Batches() []Batch {
	all := map[string]*Batch{}
	for _, j := range t.order {
		id := queue.BatchOf(j.s.Job.ID)
		if j.gone || id == "" {
			continue
		}
		if all[id] == nil {
			all[id] = &Batch{ID: id, User: j.s.Job.User}
		}
		all[id].count(j.s)
	}
	list := make([]Batch, 0, len(all))
	for _, b := range all {
		list = append(list, *b)
	}
	slices.SortFunc(list, func(a, b Batch) int {
		return cmp.Or(cmp.Compare(min(1, b.Open), min(1, a.Open)), b.Latest.Compare(a.Latest), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func (b *Batch) count(s queue.Status) {
	if s.Submitted.After(b.Latest) {
		b.Latest = s.Submitted
	}
	switch {
	case s.State == queue.Done:
		b.Done++
	case s.State == queue.Cancelled:
		b.Stopped++
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

// Facts describes the state of a batch, such as "12 to do, 2 paused, 1 failed".
func (b Batch) Facts() string {
	return cmp.Or(text.List(text.Some(b.Open, "to do"), text.Some(b.Paused, "paused"), text.Some(b.Failed, "failed"), text.Some(b.Stopped, "cancelled")), "done")
}
