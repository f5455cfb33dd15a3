package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"vidfilter/batch/queue"
)

// A job whose tasks fail is to blame if two machines fail at it, or one that does other tasks well.
// A machine that fails at several jobs, and finishes none, is to blame itself; if there is another
// one, that tries.

// machine is a worker, as the failures of a task name it.
type machine struct {
	Worker string `json:"worker"`         // key of its presence
	Host   string `json:"host,omitempty"` // with its credential
}

// taskFailures counts the processes of this round that died at a task, and the machines that failed
// at it.
type taskFailures struct {
	N  int       `json:"n"`
	On []machine `json:"on"`
}

// presence returns what a worker says of itself, if it is alive.
func (e *Engine) presence(ctx context.Context, worker string) (w queue.WorkerStatus, live bool) {
	entry, err := e.workers.Get(ctx, worker)
	return w, err == nil && json.Unmarshal(entry.Value(), &w) == nil
}

// machine returns a worker and its host, as far as its presence tells.
func (e *Engine) machine(ctx context.Context, worker string) machine {
	m := machine{Worker: worker}
	if w, live := e.presence(ctx, worker); live {
		host, _, _ := strings.Cut(w.Name, "/")
		m.Host = w.Credential + "@" + host
	}
	return m
}

// with adds a machine to those that failed. A worker that was started again on its host is the same
// machine as before.
func (e *Engine) with(ctx context.Context, on []machine, m machine) []machine {
	for i, was := range on {
		if was.Worker == m.Worker {
			return on
		}
		if _, live := e.presence(ctx, was.Worker); !live && was.Host == m.Host && m.Host != "" {
			on = slices.Clone(on)
			on[i] = m
			return on
		}
	}
	return append(slices.Clone(on), m)
}

// failureRecords counts the late failures of workers, by kind of task: a worker may cut files well,
// and have no memory to filter them.
type failureRecords struct {
	mu sync.Mutex
	of map[workerKind]*failureRecord
}

type workerKind struct{ worker, kind string }

type failureRecord struct {
	lost map[string]bool // jobs at which it failed, since it finished a task
	well map[string]bool // jobs at which it failed before it finished one
}

// suspicious is at how many jobs in a row a machine may fail before it is suspected.
const suspicious = 3

// mostFailureRecords limits the workers that are remembered, and the jobs of one.
const mostFailureRecords = 4096

// note records that a task was done or failed. Of one that failed it returns whether the worker has
// finished another one since it failed at that job for the first time, and at how many jobs it has
// failed since it finished one.
func (c *failureRecords) note(worker string, of claim, done bool) (well bool, lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := workerKind{worker, kindOf(of.task)}
	w := c.of[key]
	if w == nil {
		if len(c.of) >= mostFailureRecords || c.of == nil {
			c.of = map[workerKind]*failureRecord{}
		}
		w = &failureRecord{map[string]bool{}, map[string]bool{}}
		c.of[key] = w
	}
	switch {
	case done:
		if len(w.well) > mostFailureRecords {
			clear(w.well)
		}
		maps.Copy(w.well, w.lost)
		clear(w.lost)
		return true, 0
	case len(w.lost) < suspicious:
		w.lost[of.job] = true
	}
	return w.well[of.job], len(w.lost)
}

// takeBack uncounts a failure for which the job is to blame, as far as is known.
func (c *failureRecords) takeBack(worker string, of claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.of[workerKind{worker, kindOf(of.task)}]; w != nil {
		delete(w.lost, of.job)
	}
}

// blame is who is to blame for failures.
type blame int

const (
	nobody     blame = iota // as far as is known; another machine tries
	theJob                  // or its file
	theMachine              // and there is no other
)

// judge says who is to blame for the failures of a task, of which one has just been on this worker.
func (a *attempt) judge(ctx context.Context, on []machine) blame {
	well, lost := a.e.failures.note(a.worker, a.c, false)
	switch {
	case lost < suspicious && (well || len(on) > 1):
		a.e.failures.takeBack(a.worker, a.c)
		return theJob
	case a.othersCan(ctx):
		return nobody
	case lost == 1:
		return theJob
	}
	return theMachine
}

// othersCan reports whether another worker takes tasks such as this one.
func (a *attempt) othersCan(ctx context.Context) bool {
	if a.e.alone {
		return false
	}
	all, err := a.e.Workers(ctx)
	self, _ := a.e.presence(ctx, a.worker)
	return err != nil || slices.ContainsFunc(all, func(w queue.WorkerStatus) bool {
		return w.Name != self.Name && !w.Draining && w.Held == "" && a.serves(w.Worker)
	})
}

// serves reports whether a worker takes the task. At a server, only tasks that all may do count.
func (a *attempt) serves(w queue.Worker) bool {
	return w.Any && isAt(a.m, anySite) || slices.ContainsFunc(w.Sites, func(site string) bool {
		return (a.e.parts == nil || slices.Contains(a.e.parts, site)) && isAt(a.m, a.e.token(a.job.User, site))
	})
}

// poison says whether a job of which a process has just died is given up, and why: after so many
// deaths, of which two were at the same task, since a death that a second try disproves is nobody's
// fault. A task that was done after all is no longer counted.
func poison(r *record, task string, deaths int, by blame, last string) (as queue.State, end ending) {
	dead, on := 0, []machine{}
	for _, l := range r.Lost {
		dead += l.N
		for _, m := range l.On {
			if !slices.Contains(on, m) {
				on = append(on, m)
			}
		}
	}
	if by == nobody || dead < deaths || r.Lost[task].N < min(2, deaths) {
		return "", end
	}
	end = ending{How: endPermanent, Reason: fmt.Sprintf("%d processes died at it, at last: %s", dead, last)}
	if len(on) > 1 {
		end.Reason = fmt.Sprintf("%d processes died at it on %d machines, at last: %s", dead, len(on), last)
	}
	if by == theMachine {
		end.Code = queue.CodeMachine
		end.Reason = fmt.Sprintf("%d processes died at it, and others at other jobs on the same machine, which finished none: "+
			"the machine may be at fault, as with too little memory; at last: %s", dead, last)
		return queue.Failed, end
	}
	return queue.Quarantined, end
}
