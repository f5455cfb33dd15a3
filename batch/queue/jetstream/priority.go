package jetstream

import (
	"context"
	"fmt"
)

// Prioritize changes the priority of a job that has not ended. Its waiting tasks take their new
// siteConsumers; those at work go on, since a worker that gets such a task again gives it back.
func (e *Engine) Prioritize(ctx context.Context, id string, priority int) error {
	r, err := e.update(ctx, id, func(r *record) error {
		if !r.live() {
			return fmt.Errorf("job %s has already ended: it is %s", id, r.State)
		}
		r.Job.Priority = priority
		return nil
	})
	if err == nil {
		err = e.purgeTasks(ctx, id, r.Epoch)
	}
	if err != nil {
		return err
	}
	return e.putOpen(ctx, r)
}
