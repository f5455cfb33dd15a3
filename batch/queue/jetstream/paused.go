package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/durable"
)

// paused holds the credentials whose workers get no tasks, in a file beside the queue.
type paused struct {
	file string

	mu    sync.Mutex
	names map[string]bool // pki.All for all
}

// mostPaused limits the names.
const mostPaused = 1000

func (p *paused) load(dir string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = map[string]bool{}
	if dir == "" {
		return nil
	}
	p.file = filepath.Join(dir, "paused.json")
	b, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p.names)
	}
	if err != nil {
		return errorf("remove it, and pause again what was paused", err, "queue: %s: %v", p.file, err)
	}
	return nil
}

func (p *paused) set(name string, on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on && len(p.names) >= mostPaused {
		return fmt.Errorf("%w: %d workers are paused", queue.ErrQuota, len(p.names))
	}
	if p.names[name] = true; !on {
		delete(p.names, name)
	}
	b, err := json.Marshal(p.names)
	if err == nil && p.file != "" {
		err = durable.WriteFile(p.file, b)
	}
	return err
}

// why returns why the workers of a credential get no tasks, or "".
func (p *paused) why(credential string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.names[pki.All]:
		return "the queue is paused"
	case p.names[credential]:
		return "paused by an operator"
	}
	return ""
}

// pause pauses a job of the caller, or workers.
func (h *requestHandler) pause(ctx context.Context, by caller, q *pauseRequest) (answer, error) {
	what := "resumed"
	if q.On {
		what = "paused"
	}
	if q.Worker == "" {
		r, err := h.own(ctx, by, q.ID)
		if err == nil {
			err = h.e.Pause(ctx, q.ID, q.On)
		}
		if err == nil {
			h.log.note(by, what, r.Job, Note{})
		}
		return answer{}, err
	}
	switch {
	case !by.is(pki.Operator):
		return answer{}, fmt.Errorf("%w: only an operator pauses workers", queue.ErrRefused)
	case !isName(q.Worker):
		return answer{}, fmt.Errorf("%w: %q is no name of a credential", errMalformed, q.Worker)
	}
	if err := h.pauseWorkers(q.Worker, q.On); err != nil {
		return answer{}, err
	}
	h.log.note(by, what, queue.Job{}, Note{About: q.Worker})
	return answer{}, nil
}

func (h *requestHandler) pauseWorkers(name string, on bool) error {
	err := h.paused.set(name, on)
	if err == nil {
		h.e.publishEvent(eventPut, claim{all, all, all}, nil) // workers look for tasks
	}
	return err
}

// PauseWorkers makes the queue give no more tasks to the workers of a credential, or to any if the
// name is "all"; with false it gives them tasks again.
func (s *Server) PauseWorkers(_ context.Context, name string, on bool) error {
	if !isName(name) {
		return fmt.Errorf("%q is no name of a credential", name)
	}
	return s.handler.pauseWorkers(name, on)
}

// Paused returns the names that PauseWorkers has paused, sorted.
func (s *Server) Paused() []string {
	p := &s.handler.paused
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.names))
}

func (c *client) Pause(ctx context.Context, id string, on bool) error {
	_, err := c.insist(ctx, "pausing "+id, "pause", &pauseRequest{request: request{ID: id}, On: on})
	return err
}

// PauseWorkers makes the queue give no more tasks to the workers of a credential, or to any if the
// name is "all".
func (c *client) PauseWorkers(ctx context.Context, name string, on bool) error {
	_, err := c.insist(ctx, "pausing workers", "pause", &pauseRequest{Worker: name, On: on})
	return err
}
