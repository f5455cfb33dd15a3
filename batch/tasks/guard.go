package tasks

import (
	"context"
	"time"

	"vidfilter/queue"
)

var notePaused = queue.Progress{Note: "waiting for room on the disk"}

// Guard closes the gate while room says that the disk has too little left, and opens it when there is enough again. room is asked every
// interval until ctx ends; the text that it returns is why not, for people, and goes to note ("" when it goes on).
func (g *Gate) Guard(ctx context.Context, interval time.Duration, room func() (string, bool), note func(string)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	defer g.Set(false)
	for {
		why, enough := room()
		if g.Closed() == enough {
			g.Set(!enough)
			note(why)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// wait holds a task back while the gate is closed.
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
