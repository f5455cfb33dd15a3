package batchrun

import (
	"context"
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

// tellVersions reports waiting jobs that need another version.
func tellVersions(ctx context.Context, e queue.Engine, log *slog.Logger) {
	otherVersions(ctx, func() (map[string]int, error) {
		all, err := tasks.Jobs(ctx, e)
		waiting := map[string]int{}
		for _, s := range all {
			if !s.State.Ended() {
				waiting[tasks.SpecOf(s.Job).Record.Version]++
			}
		}
		return waiting, err
	}, func(version string, n int) {
		log.Warn(fmt.Sprintf("the queue has %s of vidfilter %s: this is %s, whose parts would differ, and leaves them to workers of that version",
			text.Count(n, "job"), version, cli.Version()))
	})
}

// tellStrangers reports workers of other versions, which take no part of this batch.
func tellStrangers(ctx context.Context, e queue.Engine, log *slog.Logger) {
	otherVersions(ctx, func() (map[string]int, error) {
		all, err := e.Workers(ctx)
		there := map[string]int{}
		for _, w := range all {
			there[tasks.PartVersion(w.Worker)]++
		}
		return there, err
	}, func(version string, n int) {
		log.Warn(fmt.Sprintf("%s of vidfilter %s at the queue: this batch is of %s, whose parts would differ, and they take none; update them",
			text.Count(n, "worker"), version, cli.Version()))
	})
}

// otherVersions polls until ctx ends, and reports each other version once.
func otherVersions(ctx context.Context, look func() (map[string]int, error), tell func(version string, n int)) {
	told := map[string]bool{"": true, cli.Version(): true}
	for range wake.Soon(ctx, lookAround) {
		found, err := look()
		for v, n := range found {
			if err == nil && !told[v] {
				told[v] = true
				tell(v, n)
			}
		}
	}
}
