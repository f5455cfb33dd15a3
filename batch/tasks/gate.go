package tasks

import (
	"os"
	"sync"
	"syscall"
)

// Gate stops and resumes all processes of a batch. The methods of a nil Gate have no effect.
type Gate struct {
	mu     sync.Mutex
	closed bool
	procs  map[*os.Process]struct{}
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
	for p := range g.procs {
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
	if g.procs == nil {
		g.procs = map[*os.Process]struct{}{}
	}
	g.procs[p] = struct{}{}
	if g.closed {
		g.signal(p)
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.procs, p)
	}
}
