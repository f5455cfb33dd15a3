package jetstream

import (
	"context"
	"fmt"
)

// lease agrees with the server on how long a worker may be silent: as in Options if set,
// otherwise as stored with the queue. Connected workers keep the old value until they reconnect.
func (e *Engine) lease(ctx context.Context) error {
	s, err := e.js.Stream(ctx, "KV_"+e.names.workers())
	if err != nil {
		return err
	}
	c := s.CachedInfo().Config
	asked := e.o.AckWait
	if !e.o.lease || asked == c.MaxAge {
		e.o.AckWait = c.MaxAge
		return nil
	}
	c.MaxAge = asked
	c.Duplicates = min(c.Duplicates, asked)
	if _, err := e.js.UpdateStream(ctx, c); err != nil {
		return fmt.Errorf("queue: setting the lease: %w", err)
	}
	list := e.tasks.ListConsumers(ctx)
	for info := range list.Info() {
		if info.Config.AckWait == asked {
			continue
		}
		info.Config.AckWait = asked
		if _, err := e.tasks.UpdateConsumer(ctx, info.Config); err != nil {
			return fmt.Errorf("queue: setting the lease: %w", err)
		}
	}
	return list.Err()
}
