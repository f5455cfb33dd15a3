package jetstream

import (
	"encoding/json"
	"reflect"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// FuzzStored reads anything as a job's record and as an outcome: what is taken names its job, comes
// back as it was stored, and takes the outcomes of its open tasks to an end.
func FuzzStored(f *testing.F) {
	r := newRecord(queue.Job{ID: "job", First: queue.Task{Name: "plan"}})
	b, err := json.Marshal(r)
	e2e.Must(f, err)
	next := []byte(`{"next":[{"name":"part-1"},{"name":"part-2"}],"then":{"name":"join"}}`)
	f.Add("job", b, next)
	f.Add("job", b, []byte(`{"end":true,"result":{"x":1}}`))
	f.Add("job", []byte(`{"job":{"id":"job","first":{"name":"a"}},"state":"running","epoch":"e","open":[{"left":["a","a"],"then":"a"}]}`), next)
	f.Add("", []byte("{}"), []byte("{}"))
	f.Fuzz(func(t *testing.T, key string, stored, outcome []byte) {
		r := decodeRecord(key, stored)
		if r.Job.ID != key {
			t.Errorf("the record of %q is of %q", key, r.Job.ID)
		}
		if r.malformed() {
			if r.State != queue.Failed || r.Reason == "" {
				t.Errorf("a malformed record is %+v", r)
			}
			return
		}
		b, err := json.Marshal(r)
		e2e.Must(t, err)
		if again := decodeRecord(key, b); !reflect.DeepEqual(again, r) {
			t.Errorf("stored as %s, it comes back as %+v instead of %+v", b, again, r)
		}
		var o queue.Outcome
		if json.Unmarshal(outcome, &o) != nil {
			return
		}
		for range 10 {
			if !r.live() || len(r.Open) == 0 || len(r.Open[0].Left) == 0 {
				return
			}
			finished := r.Finished
			if r.finish(r.Open[0].Left[0], o); r.Finished != finished+1 {
				t.Errorf("%d tasks were finished, now %d", finished, r.Finished)
			}
			o.Next = nil // the followers end
		}
	})
}
