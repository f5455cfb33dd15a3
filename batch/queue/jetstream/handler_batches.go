package jetstream

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
)

// Acting makes the requests of a connection those of a batch's owner. The connection's credential
// must hold the batch.
type Acting struct{ ID, Hold, Owner string }

// actor returns the caller whose rights a request has.
func (h *requestHandler) actor(by caller, q *request) (caller, error) {
	if q.For == "" {
		return by, nil
	}
	h.requests.mu.Lock()
	defer h.requests.mu.Unlock()
	p, err := h.requests.held(by, q.For, q.Hold)
	if err != nil {
		return by, fmt.Errorf("%w: %v", queue.ErrRefused, err)
	}
	return caller{pki.Submitter, p.User, by.name}, nil
}

// locked calls f for the request of an answer.
func (h *requestHandler) locked(f func(r *requests) (*batchEntry, error)) (answer, error) {
	h.requests.mu.Lock()
	defer h.requests.mu.Unlock()
	p, err := f(&h.requests)
	if p == nil || err != nil {
		return answer{}, err
	}
	return answer{Batches: []queue.RequestStatus{h.requests.status(p)}}, nil
}

func (h *requestHandler) addRequest(_ context.Context, by caller, q *batchRequest) (answer, error) {
	if q.Batch == nil || len(q.Worker) > mostNote || q.Hold != "" && !isName(q.Hold) {
		return answer{}, fmt.Errorf("%w: no batch", errMalformed)
	}
	return h.locked(func(r *requests) (*batchEntry, error) {
		p, err := r.add(by, *q.Batch, q.Worker, q.Hold)
		if err == nil {
			h.log.note(by, "submitted a batch", queue.Job{ID: p.ID}, Note{})
		}
		return p, err
	})
}

func (h *requestHandler) takeRequest(_ context.Context, by caller, q *batchRequest) (answer, error) {
	if q.Hold != "" && !isName(q.Hold) || len(q.Worker) > mostNote || !filepath.IsAbs(q.Folder) || len(q.Folder) > 4*mostNote {
		return answer{}, fmt.Errorf("%w: agent %q of %q", errMalformed, q.Worker, q.Folder)
	}
	return h.locked(func(r *requests) (*batchEntry, error) {
		p, err := r.take(by, q.Worker, q.Folder, q.Hold)
		if err == nil {
			h.log.note(by, "took a batch", queue.Job{ID: p.ID}, Note{About: p.User})
		}
		return p, err
	})
}

func (h *requestHandler) holdRequest(_ context.Context, by caller, q *batchRequest) (answer, error) {
	return h.locked(func(r *requests) (*batchEntry, error) { return nil, r.hold(by, q.ID, q.Hold) })
}

func (h *requestHandler) returnRequest(_ context.Context, by caller, q *batchRequest) (answer, error) {
	return h.locked(func(r *requests) (*batchEntry, error) { return nil, r.release(by, q.ID, q.Hold, q.Why) })
}

func (h *requestHandler) endRequest(_ context.Context, by caller, q *batchRequest) (answer, error) {
	if q.Ending == nil || !q.Ending.State.Ended() {
		return answer{}, fmt.Errorf("%w: no ending", errMalformed)
	}
	return h.locked(func(r *requests) (*batchEntry, error) {
		p, err := r.held(by, q.ID, q.Hold)
		if err != nil {
			return nil, err
		}
		now := *p
		now.end(*q.Ending)
		h.log.note(by, "ended a batch", queue.Job{ID: p.ID}, Note{About: p.User, Why: string(now.State)})
		return nil, r.put(now)
	})
}

func (h *requestHandler) changeRequest(_ context.Context, by caller, q *batchRequest) (answer, error) {
	return h.locked(func(r *requests) (*batchEntry, error) {
		p, err := r.change(by, q.ID, q.Change)
		if err == nil {
			h.log.note(by, q.Change+" a batch", queue.Job{ID: p.ID}, Note{About: p.User})
		}
		return nil, err
	})
}

// listRequests returns one request, or all without their large fields. Those of others are without
// names of files.
func (h *requestHandler) listRequests(_ context.Context, by caller, q *batchRequest) (a answer, err error) {
	h.requests.mu.Lock()
	defer h.requests.mu.Unlock()
	for _, p := range h.requests.sorted() {
		if q.ID != "" && q.ID != p.ID {
			continue
		}
		s := h.requests.status(p)
		if own := by.ownsOf(p.User); !own || q.ID == "" {
			s.Document, s.Files, s.Ending.Table = nil, nil, ""
			if !own {
				s.Root, s.Site, s.Shared, s.Webhook, s.Ending.Reason, s.Waits = "", "", "", "", "", ""
			}
		}
		a.Batches = append(a.Batches, s)
	}
	if q.ID != "" && len(a.Batches) == 0 {
		err = queue.ErrNoRequest
	}
	return a, err
}

// asker sends a verb about requests.
type asker func(ctx context.Context, verb string, q *batchRequest) (answer, error)

var _ queue.Requests = asker(nil)

// Requests returns the batches of a served queue with the rights of an operator, for whom name
// stands as the owner of new ones.
func (s *Server) Requests(name string) queue.Requests {
	by := caller{role: pki.Operator, name: name}
	return asker(func(ctx context.Context, verb string, q *batchRequest) (answer, error) {
		do := map[string]func(*requestHandler, context.Context, caller, *batchRequest) (answer, error){
			"batch-add": (*requestHandler).addRequest, "batch-change": (*requestHandler).changeRequest, "batches": (*requestHandler).listRequests,
		}[verb]
		if do == nil {
			return answer{}, fmt.Errorf("%w: the server runs no batches", queue.ErrRefused)
		}
		return do(s.handler, ctx, by, q)
	})
}

// Requests returns the batches of the queue.
func (c *client) Requests() queue.Requests {
	return asker(func(ctx context.Context, verb string, q *batchRequest) (answer, error) {
		return c.insist(ctx, "asking for batches", verb, q)
	})
}

func (ask asker) one(ctx context.Context, verb string, q *batchRequest) (queue.RequestStatus, error) {
	a, err := ask(ctx, verb, q)
	if err == nil && len(a.Batches) != 1 {
		err = queue.ErrNoRequest
	}
	if err != nil {
		return queue.RequestStatus{}, err
	}
	return a.Batches[0], nil
}

func (ask asker) AddRequest(ctx context.Context, r queue.Request, worker, hold string) (queue.RequestStatus, error) {
	return ask.one(ctx, "batch-add", &batchRequest{request: request{Hold: hold}, Batch: &r, Worker: worker})
}

func (ask asker) Requests(ctx context.Context) ([]queue.RequestStatus, error) {
	a, err := ask(ctx, "batches", &batchRequest{})
	return a.Batches, err
}

func (ask asker) Request(ctx context.Context, id string) (queue.RequestStatus, error) {
	return ask.one(ctx, "batches", &batchRequest{request: request{ID: id}})
}

func (ask asker) ChangeRequest(ctx context.Context, id, change string) error {
	_, err := ask(ctx, "batch-change", &batchRequest{request: request{ID: id}, Change: change})
	return err
}

func (ask asker) Hold(ctx context.Context, id, hold string) error {
	_, err := ask(ctx, "batch-hold", &batchRequest{request: request{ID: id, Hold: hold}})
	return err
}

func (ask asker) EndRequest(ctx context.Context, id, hold string, e queue.Ending) error {
	_, err := ask(ctx, "batch-end", &batchRequest{request: request{ID: id, Hold: hold}, Ending: &e})
	return err
}

func (ask asker) TakeRequest(ctx context.Context, worker, folder, hold string) (queue.RequestStatus, error) {
	return ask.one(ctx, "batch-take", &batchRequest{request: request{Hold: hold}, Worker: worker, Folder: folder})
}

func (ask asker) ReturnRequest(ctx context.Context, id, hold, why string) error {
	_, err := ask(ctx, "batch-return", &batchRequest{request: request{ID: id, Hold: hold}, Why: why})
	return err
}

// Lease returns how long a process that runs a batch may be silent.
func (c *client) Lease() time.Duration { return c.o.AckWait }
