package jetstream

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// dropRests removes pieces of files that whoever stored them did not come to finish, if nothing was added for that long.
func (e *Engine) dropRests(ctx context.Context, idle time.Duration) error {
	pieces := "$O." + e.names.blobs() + ".C."
	s, err := e.js.Stream(ctx, "OBJ_"+e.names.blobs())
	if err != nil {
		return fmt.Errorf("queue: files: %w", err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(pieces+">"))
	if err != nil {
		return fmt.Errorf("queue: files: %w", err)
	}
	rests := info.State.Subjects
	if len(rests) == 0 {
		return nil
	}
	whole, err := e.wholeFiles(ctx)
	if err != nil {
		return err
	}
	for subject := range rests {
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

// wholeFiles returns the names that the pieces of stored files have.
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
