package jetstream

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// FuzzQuestions asks the head anything: it must not panic, every answer can be sent, a job of
// another stays as it is, and only those who may submit add one.
func FuzzQuestions(f *testing.F) {
	ctx := context.Background()
	e := embedded(f, quick)
	h := newHead(e, []byte("secret"), ServeOptions{Sites: []string{"parts"}})
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
