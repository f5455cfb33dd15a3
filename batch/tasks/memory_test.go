package tasks

import (
	"context"
	"errors"
	"testing"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

func init() { plays["hungry"] = hungry }

// hungry takes 300 MB.
func hungry() int {
	b := make([]byte, 300<<20)
	for i := range b {
		b[i] = 1
	}
	return plays["stuck"]()
}

// The youngest process is killed when all together take more than the limit. The older one goes
// on, and the younger one counts as killed for lack of memory.
func TestLimitMemory(t *testing.T) {
	g := new(Gate)
	ctx, cancel := context.WithCancel(t.Context())
	old, young := make(chan error), make(chan error)
	begun := make(chan bool, 1)
	first := player("slow")
	first.Gate = g
	go func() {
		_, err := first.Media(ctx, nil, func(queue.Progress) {
			select {
			case begun <- true:
			default:
			}
		})
		old <- err
	}()
	<-begun
	second := player("hungry")
	second.Gate = g
	go func() {
		_, err := second.Media(ctx, nil, func(queue.Progress) {})
		young <- err
	}()
	watched := make(chan bool)
	go func() { g.LimitMemory(ctx, 200<<20); close(watched) }()
	var exit *ExitError
	if err := <-young; !errors.As(err, &exit) || !exit.Starved || exit.Reason != starvedReason {
		t.Errorf("the younger one: %v", err)
	}
	e2e.Must(t, <-old)
	cancel()
	<-watched
	if len(g.procs)+len(g.starved) > 0 {
		t.Errorf("kept: %v, %v", g.procs, g.starved)
	}
}
