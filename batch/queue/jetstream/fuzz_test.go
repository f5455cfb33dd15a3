package jetstream

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// FuzzQuestions sends arbitrary requests to the server: it must not panic, every answer can be
// sent, another user's job stays unchanged, and only roles that may submit add one.
func FuzzQuestions(f *testing.F) {
	ctx := context.Background()
	e := embedded(f, quick)
	h := newRequestHandler(e, []byte("secret"), ServeOptions{Sites: []string{"parts"}})
	e2e.Must(f, h.listen())
	f.Cleanup(func() { _ = h.close() })
	theirs := queue.Job{ID: "theirs", User: "somebody", Site: "nowhere", First: queue.Task{Name: "part-0001", Kind: "part", Site: "elsewhere"}}
	e2e.Must(f, e.Submit(ctx, theirs, false))
	record := func(t *testing.T) string {
		r, _, err := e.get(ctx, theirs.ID)
		e2e.Must(t, err)
		b, err := json.Marshal(r)
		e2e.Must(t, err)
		return string(b)
	}
	count := func(t *testing.T) int {
		keys, err := e.jobs.Keys(ctx)
		e2e.Must(t, err)
		return len(keys)
	}

	asked := slices.Sorted(maps.Keys(verbs))
	forged := &ticket{Subject: "vf.task.new.parts.theirs.epoch.part-0001", Reply: "$JS.ACK.x", MAC: "00"}
	forgedTask, file := request{Ticket: forged, Attempt: "a"}, fileRequest{Name: "theirs/in/0001"}
	for _, q := range []anyRequest{
		&request{}, &cancelRequest{request{ID: "theirs"}, "no"}, &submitRequest{Job: &theirs, Again: true},
		&submitRequest{Job: &queue.Job{ID: "../../x", First: queue.Task{Name: "whole"}}},
		&submitRequest{Job: &queue.Job{ID: "mine", First: queue.Task{Name: "whole"}}}, &fetchRequest{Sites: []string{"parts", ">"}, Any: true},
		&jobsRequest{Since: 1 << 63}, &takeRequest{forgedTask, "w", ""},
		&settleRequest{forgedTask, &ending{How: endDone, Outcome: &queue.Outcome{End: true}}},
		&pieceRequest{file, "aaaaaaaaaaaaaaaa", 7}, &presenceRequest{Worker: "w", Presence: &queue.WorkerStatus{}},
	} {
		q.shared().Protocol = queue.Protocol
		m, err := pack(q, nil)
		e2e.Must(f, err)
		for i := range asked {
			f.Add(i, 0, "", m.Data)
			f.Add(i, 1, string(m.Data), []byte("piece"))
		}
	}
	f.Fuzz(func(t *testing.T, what, role int, header string, data []byte) {
		by := caller{role: pki.Roles[uint(role)%uint(len(pki.Roles))], name: "mallory"}
		m := &nats.Msg{Data: data}
		if header != "" {
			m.Header = nats.Header{askHeader: {header}}
		}
		was, before := count(t), record(t)
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		verb := asked[uint(what)%uint(len(asked))]
		a, err := h.do(ctx, by, verb, m)
		if err != nil {
			a = failed(err)
		}
		if _, err := pack(a, a.data); err != nil {
			t.Errorf("%s by %s: the answer: %v", verb, by.role, err)
		}
		if by.is(pki.Operator) {
			return
		}
		if now := record(t); now != before {
			t.Errorf("%s by %s changed the job of another: %s", verb, by.role, now)
		}
		if n := count(t); n != was && !by.is(pki.Submitter) {
			t.Errorf("%s by %s: %d jobs, were %d", verb, by.role, n, was)
		}
	})
}

// FuzzStored reads arbitrary bytes as a job's record and as an outcome: an accepted record has the
// ID of its job, survives a round trip, and ends with the outcomes of its open tasks.
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
