package tasks

import (
	"context"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

var notePaused = queue.Progress{Note: "waiting for disk space"}

// Guard closes the gate while room returns false, and opens it again, until ctx ends. It calls
// room every interval and passes its text, the reason for people, to note; the text is "" when
// work resumes.
func (g *Gate) Guard(ctx context.Context, interval time.Duration, room func() (string, bool), note func(string)) {
	defer g.Set(false)
	for range wake.Soon(ctx, interval) {
		why, enough := room()
		if g.Closed() == enough {
			g.Set(!enough)
			note(why)
		}
	}
}

// wait blocks while the gate is closed.
func (k *task) wait(ctx context.Context) error {
	for first := true; k.Program.Gate.Closed(); first = false {
		if first {
			k.report(notePaused)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}
