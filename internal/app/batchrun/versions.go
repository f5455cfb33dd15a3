package batchrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tasks"
	"vidfilter/internal/cli"
	"vidfilter/internal/text"
	"vidfilter/internal/wake"
)

// lookAround is the interval between looks for other versions.
const lookAround = 15 * time.Second

// reportVersions reports waiting jobs of a protocol that this version does not know.
func reportVersions(ctx context.Context, e queue.Engine, log *slog.Logger) {
	otherVersions(ctx, func() (map[string]int, error) {
		all, err := tasks.Jobs(ctx, e)
		waiting := map[string]int{}
		for _, s := range all {
			spec := tasks.SpecOf(s.Job)
			if !s.State.Ended() && (spec.Protocol < queue.OldestProtocol || spec.Protocol > queue.Protocol) {
				waiting[spec.Record.Version]++
			}
		}
		return waiting, err
	}, func(version string, n int) {
		log.Warn(fmt.Sprintf("the queue has %s of vidfilter %s: this is %s, which knows protocols %d to %d, and leaves them to other workers",
			text.Count(n, "job"), version, cli.Version(), queue.OldestProtocol, queue.Protocol))
	})
}

// reportOldWorkers reports workers that take no part of this batch, since their protocol is
// another.
func reportOldWorkers(ctx context.Context, e queue.Engine, log *slog.Logger) {
	otherVersions(ctx, func() (map[string]int, error) {
		all, err := e.Workers(ctx)
		there := map[string]int{}
		for _, w := range all {
			if !tasks.TakesParts(w.Worker) {
				there[cmp.Or(w.Version, "an earlier version")]++
			}
		}
		return there, err
	}, func(version string, n int) {
		log.Warn(fmt.Sprintf("%s of vidfilter %s at the queue: this batch is of %s and protocol %d, which they do not know, and they take no part; update them",
			text.Count(n, "worker"), version, cli.Version(), queue.Protocol))
	})
}

// otherVersions polls until ctx ends, and reports each version once.
func otherVersions(ctx context.Context, look func() (map[string]int, error), tell func(version string, n int)) {
	told := map[string]bool{}
	for range wake.Soon(ctx, lookAround) {
		found, err := look()
		if errors.Is(err, queue.ErrRefused) { // the credential may not look
			return
		}
		for v, n := range found {
			if err == nil && !told[v] {
				told[v] = true
				tell(v, n)
			}
		}
	}
}
