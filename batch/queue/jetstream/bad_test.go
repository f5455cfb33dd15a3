package jetstream

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// A result that a part cannot have counts against the credential of its worker, in the audit log
// and in the numbers. Good ones, and those too large for the queue, count as they should.
func TestBadResults(t *testing.T) {
	f := newFleet(t, ServeOptions{Check: func(_ queue.Task, result []byte) (string, error) {
		if string(result) == `"bad"` {
			return "", errors.New("a part of -1 frames")
		}
		return "", nil
	}})
	owner, good, bad := f.client("owner", pki.Submitter), f.client("good", pki.Worker), f.client("bad", pki.Worker)
	returns := func(c *client, id, result string) {
		f.task(owner, id)
		a := f.give(c)
		e2e.Must(t, (&clientSource{c: c}).settle(t.Context(), a, ending{How: endDone, Outcome: &queue.Outcome{Result: []byte(result)}}))
	}
	returns(good, queue.OwnedID("one", "owner"), `"good"`)
	returns(bad, queue.OwnedID("two", "owner"), `"bad"`)
	e2e.Must(t, owner.Cancel(t.Context(), queue.OwnedID("two", "owner"), "x"))
	large := make([]byte, mostResult+2)
	for i := range large {
		large[i] = '1'
	}
	returns(bad, queue.OwnedID("three", "owner"), string(large))
	if got := f.BadResults(); !maps.Equal(got, map[string]int{"bad": 2}) {
		t.Errorf("bad results: %v", got)
	}
	for _, id := range []string{"two", "three"} {
		if note := "bad worker bad result " + queue.OwnedID(id, "owner") + " "; !slices.Contains(f.notes.all(), note) {
			t.Errorf("no %q in %q", note, f.notes.all())
		}
	}
}
