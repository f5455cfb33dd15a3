package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// dropOrphans removes pieces of files that were never completed, if none was added for the time
// idle.
func (e *Engine) dropOrphans(ctx context.Context, idle time.Duration) error {
	pieces := "$O." + e.names.blobs() + ".C."
	s, err := e.js.Stream(ctx, "OBJ_"+e.names.blobs())
	if err != nil {
		return fmt.Errorf("queue: files: %w", err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(pieces+">"))
	if err != nil {
		return fmt.Errorf("queue: files: %w", err)
	}
	orphans := info.State.Subjects
	if len(orphans) == 0 {
		return nil
	}
	whole, err := e.wholeFiles(ctx)
	if err != nil {
		return err
	}
	for subject := range orphans {
		if whole[strings.TrimPrefix(subject, pieces)] {
			continue
		}
		last, err := s.GetLastMsgForSubject(ctx, subject)
		if err != nil || time.Since(last.Time) < idle {
			continue
		}
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("queue: files: %w", err)
		}
	}
	return nil
}

// wholeFiles returns the names of the pieces of complete files.
func (e *Engine) wholeFiles(ctx context.Context) (map[string]bool, error) {
	whole := map[string]bool{}
	infos, err := e.objects.List(ctx)
	if err != nil && !isEmpty(err) {
		return nil, fmt.Errorf("queue: files: %w", err)
	}
	for _, o := range infos {
		whole[o.NUID] = true
	}
	return whole, nil
}

// dropSpoiled removes the messages of tasks that the disk has spoiled: no worker would get them.
// Sweep queues the tasks again.
func (e *Engine) dropSpoiled(ctx context.Context) error {
	info, err := e.tasks.Info(ctx, jetstream.WithSubjectFilter(e.names.allTasks()))
	if err != nil {
		return fmt.Errorf("queue: tasks: %w", err)
	}
	for subject := range info.State.Subjects {
		if _, err := e.tasks.GetLastMsgForSubject(ctx, subject); !errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		e.o.Log.Warn("queue: the task " + subject + " is spoiled, and will be queued again")
		if err := e.tasks.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return fmt.Errorf("queue: tasks: %w", err)
		}
	}
	return nil
}
