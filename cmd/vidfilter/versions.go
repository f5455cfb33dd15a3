package main

import (
	"context"
	"time"

	"vidfilter/batch/tasks"
	"vidfilter/internal/text"
	"vidfilter/queue"
)

// lookAround is how often a worker and a batch look whether others are of another version.
const lookAround = 15 * time.Second

// tellVersions says that jobs wait which this worker does not take.
func tellVersions(ctx context.Context, e queue.Engine, say func(string, ...any)) {
	otherVersions(ctx, func() (map[string]int, error) {
		all, err := tasks.Jobs(ctx, e)
		waiting := map[string]int{}
		for _, s := range all {
			if !s.State.Ended() {
				waiting[tasks.VersionOf(s.Job)]++
			}
		}
		return waiting, err
	}, func(version string, n int) {
		say("the queue has %s of vidfilter %s: this is %s, whose parts would differ, and leaves them to workers of that version",
			text.Count(n, "job"), version, versionName())
	})
}

// tellStrangers says that there are workers which take no part of this batch.
func tellStrangers(ctx context.Context, e queue.Engine, say func(string, ...any)) {
	otherVersions(ctx, func() (map[string]int, error) {
		all, err := e.Workers(ctx)
		there := map[string]int{}
		for _, w := range all {
			there[tasks.PartVersion(w.Worker)]++
		}
		return there, err
	}, func(version string, n int) {
		say("%s of vidfilter %s at the queue: this batch is of %s, whose parts would differ, and they take none; update them",
			text.Count(n, "worker"), version, versionName())
	})
}

// otherVersions looks now and then, until ctx ends, and tells of each version once that is not ours.
func otherVersions(ctx context.Context, look func() (map[string]int, error), tell func(version string, n int)) {
	told := map[string]bool{"": true, versionName(): true}
	for tick := time.NewTicker(lookAround); ; {
		found, err := look()
		for v, n := range found {
			if err == nil && !told[v] {
				told[v] = true
				tell(v, n)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}
