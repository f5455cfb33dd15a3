package jetstream

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// TestEventsBeforeRecord has a task begin and end before the record says that the job runs: it runs
// from then on, and is queued again only if it is started over.
func TestEventsBeforeRecord(t *testing.T) {
	var states []queue.State
	w := newWatcher(&link{names: "vf"}, func(s queue.Status) { states = append(states, s.State) }, nil)
	r := newRecord(queue.Job{ID: "a", First: queue.Task{Name: "plan"}})
	revision := uint64(0)
	write := func() {
		b, err := json.Marshal(r)
		e2e.Must(t, err)
		revision++
		w.changed("a", b, revision, false)
	}
	event := func(kind string) {
		b, err := json.Marshal(queue.Active{Task: "plan", Attempt: 1})
		e2e.Must(t, err)
		w.told(&nats.Msg{Subject: w.names.event(kind, r.claim("plan")), Data: b})
	}
	want := func(all ...queue.State) {
		t.Helper()
		if !slices.Equal(states, all) {
			t.Errorf("%q, want %q", states, all)
		}
		states = nil
	}
	write()
	event(eventProgress)
	event(eventOver)
	write() // a change that does not say yet that it runs
	r.State = queue.Running
	write()
	want(queue.Queued, queue.Running, queue.Running, queue.Running, queue.Running)
	// The record of the failure was not seen.
	r.again(r.Job)
	write()
	event(eventProgress)
	want(queue.Queued, queue.Running)
	r.Epoch = newID()
	write()
	want(queue.Queued)
}
