package status

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/text"
)

// mostBatches is how many batches the page shows.
const mostBatches = 20

// Batch is a batch for display. The JSON names are stable.
type Batch struct {
	tally.Batch
	Request queue.State `json:"request,omitempty"` // see queue.RequestStatus; "" if no agent knows it
	Held    bool        `json:"held,omitempty"`    // no agent takes it
	Facts   string      `json:"facts"`
	Why     string      `json:"why"` // it waits, or has failed
}

func (b Batch) live() bool { return b.Open > 0 || b.Request != "" && !b.Request.Ended() }

// batches returns the latest batches, those that have not ended first, and how many others there
// are.
func (s *server) batches() (list []Batch, more int) {
	all := map[string]tally.Batch{}
	s.mu.Lock()
	for _, b := range s.t.Batches() {
		all[b.ID] = b
	}
	s.mu.Unlock()
	for _, r := range s.requests() {
		b := Batch{Batch: all[r.ID], Request: r.State, Held: r.Paused, Why: text.OneLine(cmp.Or(r.Waits, r.Ending.Reason))}
		delete(all, r.ID)
		if b.ID == "" {
			b.ID, b.User, b.Latest = r.ID, r.User, r.Submitted
		}
		b.Facts = cmp.Or(b.Batch.Facts(), string(r.State))
		list = append(list, b)
	}
	for _, b := range all {
		list = append(list, Batch{Batch: b, Facts: b.Facts()})
	}
	slices.SortFunc(list, func(a, b Batch) int {
		if a.live() != b.live() {
			return cmp.Compare(rankOf[a.live()], rankOf[b.live()])
		}
		return cmp.Or(b.Latest.Compare(a.Latest), cmp.Compare(a.ID, b.ID))
	})
	more = max(0, len(list)-mostBatches)
	return list[:len(list)-more], more
}

var rankOf = map[bool]int{true: 0, false: 1} // by live

func (s *server) requests() []queue.RequestStatus {
	if s.o.Requests == nil {
		return nil
	}
	all, _ := s.o.Requests.Requests(s.ctx) // the jobs show without them
	return all
}

// changeRequest changes the request of a batch, and reports whether it has one to which the verb
// applies.
func (s *server) changeRequest(ctx context.Context, v verb, id string) (bool, error) {
	for _, r := range s.requests() {
		if r.ID != id || v.change == "" || !v.applies(r.State) {
			continue
		}
		err := s.o.Requests.ChangeRequest(ctx, id, v.change)
		if errors.Is(err, queue.ErrNoRequest) { // it has gone meanwhile
			return false, nil
		}
		return true, err
	}
	return false, nil
}
