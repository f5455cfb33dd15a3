package tasks

import (
	"context"
	"os"
	"strings"
	"syscall"
	"time"

	"vidfilter/internal/machine"
	"vidfilter/internal/wake"
)

// memoryEvery is how often the memory of the processes is added up.
const memoryEvery = 250 * time.Millisecond

// LimitMemory kills the youngest process whenever all of them together take more than most bytes
// of memory, until ctx ends, as the kernel does in a control group.
func (g *Gate) LimitMemory(ctx context.Context, most int64) {
	for range wake.Every(ctx, memoryEvery) {
		g.killAbove(most, machine.OwnedBy)
	}
}

// killAbove kills one process, since the others have room then.
func (g *Gate) killAbove(most int64, takes func(pid int) int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := int64(0)
	for _, p := range g.procs {
		all += takes(p.Pid)
	}
	if all <= most || len(g.procs) == 0 {
		return
	}
	youngest := g.procs[len(g.procs)-1]
	if g.starved == nil {
		g.starved = map[*os.Process]bool{}
	}
	g.starved[youngest] = true
	_ = youngest.Kill() // it may have just ended
}

// hasStarved reports whether LimitMemory has killed a process that has ended.
func (g *Gate) hasStarved(p *os.Process) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.starved[p]
	delete(g.starved, p)
	return was
}

// starvedReason is reported instead of the signal, which does not explain it.
const starvedReason = "the process was killed for lack of memory"

// isStarved reports whether a process ended for lack of memory: it was killed, and meanwhile the
// kernel has killed for that, or its last words say so.
func isStarved(signal syscall.Signal, before int64, crash error) bool {
	if signal == syscall.SIGKILL {
		return machine.KilledForMemory() > before
	}
	return crash != nil && strings.Contains(crash.Error(), "out of memory")
}
