package tasks

import (
	"os"
	"slices"
	"sync"
	"syscall"
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
