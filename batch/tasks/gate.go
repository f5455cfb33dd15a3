package tasks

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// Gate stops and resumes all processes of a batch. The methods of a nil Gate have no effect.
type Gate struct {
	mu     sync.Mutex
	closed bool
	procs  []*os.Process // by age, the oldest first

	starved map[*os.Process]bool // see LimitMemory
}

// Closed reports whether the processes are stopped.
func (g *Gate) Closed() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Set closes or opens the gate.
func (g *Gate) Set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == closed {
		return
	}
	g.closed = closed
	for _, p := range g.procs {
		g.signal(p)
	}
}

func (g *Gate) signal(p *os.Process) {
	s := syscall.SIGCONT
	if g.closed {
		s = syscall.SIGSTOP
	}
	_ = p.Signal(s) // it may have just ended
}

// add puts a process under the gate until the returned function is called.
func (g *Gate) add(p *os.Process) func() {
	if g == nil {
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.procs = append(g.procs, p)
	if g.closed {
		g.signal(p)
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.procs = slices.DeleteFunc(g.procs, func(other *os.Process) bool { return other == p })
	}
}

// Notes on tasks that wait.
var (
	notePaused  = queue.Progress{Note: "waiting for disk space"}
	noteSession = queue.Progress{Note: "waiting for a free session of NVENC"}
)

// restTime is how long a slot rests that found no session of NVENC.
var restTime = 10 * time.Second

// rest keeps a slot from its next task, for which there is no session either, and returns err, or
// the cause why ctx ended.
func (k *task) rest(ctx context.Context, err error) error {
	k.report(noteSession)
	return cmp.Or(wake.Sleep(ctx, restTime), err)
}

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

// Hold returns why this machine should take no task now, or "".
func (r *Runner) Hold() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Program.Gate.Closed() || time.Now().Before(r.full) {
		return "its disk is full"
	}
	return ""
}

// giveBackAfter is how long the disk may be full before a machine gives back what others may do.
var giveBackAfter = 10 * time.Second

// yield ends the returned context when the gate has been closed for long, if others may do it.
// The returned function ends the watch.
func (k *task) yield(ctx context.Context) (context.Context, func()) {
	if !k.yields {
		return ctx, func() {}
	}
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		since := time.Now()
		for range wake.Every(ctx, giveBackAfter/50) {
			if !k.Program.Gate.Closed() {
				since = time.Now()
			} else if time.Since(since) >= giveBackAfter {
				stop(queue.Later(fmt.Errorf("%w: given back", ErrFull), time.Millisecond))
			}
		}
	})
	return ctx, func() { stop(nil); watching.Wait() }
}

// wait blocks while the gate is closed.
func (k *task) wait(ctx context.Context) error {
	for first := true; k.Program.Gate.Closed(); first = false {
		if first {
			k.report(notePaused)
		}
		if err := wake.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
