package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// dropOrphans removes pieces of files that were never completed, if no piece was added for the time
// idle.
func (e *Engine) dropOrphans(ctx context.Context, idle time.Duration) error {
	pieces := "$O." + e.names.blobs() + ".C."
	info, err := e.files.Info(ctx, jetstream.WithSubjectFilter(pieces+">"))
	if err != nil {
		return fmt.Errorf("queue: files: %w", err)
	}
	whole := map[string]bool{}
	if len(info.State.Subjects) > 0 {
		err = blobs{e}.each(ctx, func(o jetstream.ObjectInfo) { whole[o.NUID] = true })
	}
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if whole[strings.TrimPrefix(subject, pieces)] {
			continue
		}
		last, err := e.files.GetLastMsgForSubject(ctx, subject)
		if err != nil || time.Since(last.Time) < idle {
			continue
		}
		if err := e.files.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("queue: files: %w", err)
		}
	}
	return nil
}

// dropSpoiled removes the messages of tasks that no worker would get, since the disk has spoiled
// them, or they are still at the site of the job's former owner. Sweep queues the tasks again.
func (e *Engine) dropSpoiled(ctx context.Context) error {
	info, err := e.tasks.Info(ctx, jetstream.WithSubjectFilter(e.names.allTasks()))
	if err != nil {
		return fmt.Errorf("queue: tasks: %w", err)
	}
	for subject := range info.State.Subjects {
		m, err := e.tasks.GetLastMsgForSubject(ctx, subject)
		switch {
		case err == nil && e.isQueuedWell(ctx, m):
			continue
		case errors.Is(err, jetstream.ErrMsgNotFound):
			e.o.Log.Warn("queue: the task " + subject + " is spoiled, and will be queued again")
		case err != nil:
			continue
		}
		if err := e.tasks.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("queue: tasks: %w", err)
		}
	}
	return nil
}

// isQueuedWell reports whether the workers of a task's site will find its message.
func (e *Engine) isQueuedWell(ctx context.Context, m *jetstream.RawStreamMsg) bool {
	var t queue.Task
	c, err := fromSubject(m.Subject)
	if err != nil || json.Unmarshal(m.Data, &t) != nil {
		return true // the worker that takes it removes it
	}
	r, _, err := e.get(ctx, c.job)
	return err != nil || strings.Contains(m.Subject, "."+e.token(r.Job.User, t.Site)+".")
}
