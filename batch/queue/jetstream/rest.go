package jetstream

import (
	"fmt"
	"strings"
	"time"

	"vidfilter/batch/queue"
)

// A worker that fails at three tasks in a row rests, longer each time, and others get its tasks.
// After that it does one at a time, until one is done. Tasks that nobody else does do not rest.

const inARow = 3

// ended takes the end of an attempt: which kinds of tasks fail here, and whether memory is short.
func (p *workerPool) ended(kind string, end ending, starved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch end.How {
	case endDone:
		delete(p.failedInRow, kind)
	case endDied, endFailed:
		if time.Since(p.failed) > 2*p.l.o.MaxBackOff {
			clear(p.failedInRow)
		}
		p.failed = time.Now()
		if p.failedInRow[kind]++; p.failedInRow[kind] < inARow {
			return
		}
		rest := p.l.o.delay(p.failedInRow[kind])
		p.restsUntil = time.Now().Add(rest)
		p.restReason = clip(fmt.Sprintf("%d tasks in a row failed here, the last: %s", p.failedInRow[kind], oneLine(end.Reason)))
		then := fmt.Sprintf("it rests for %v, and others get its tasks", rest.Round(time.Second))
		if p.atHome() {
			then = "it does one at a time until one is done"
		}
		p.l.o.Log.Warn(fmt.Sprintf("worker %s: %s: %s", p.w.Name, p.restReason, then))
	case endBack:
		if starved && p.slots > 1 {
			p.slots--
			p.l.o.Log.Warn(fmt.Sprintf("worker %s: %s: %d at a time from now on", p.w.Name, end.Reason, p.slots))
		}
	}
}

// atHome reports whether nobody else does tasks of this worker's sites.
func (p *workerPool) atHome() bool { return !p.w.Any && len(p.w.Home) == len(p.w.Sites) }

// from returns the task source that a further task may come from now, or nil.
func (p *workerPool) from() taskSource {
	if p.w.Hold != nil && p.w.Hold() != "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	most := p.slots
	for _, n := range p.failedInRow {
		if n >= inARow {
			most = 1
		}
	}
	switch {
	case p.busy >= most:
		return nil
	case time.Now().Before(p.restsUntil):
		return p.home
	}
	return p.source
}

// held returns why the worker takes no tasks that others do, or "".
func (p *workerPool) held() string {
	if p.w.Hold != nil {
		if why := p.w.Hold(); why != "" {
			return why
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.restsUntil) && !p.atHome() {
		return "rests: " + p.restReason
	}
	return ""
}

// crowded takes back that a process died for lack of memory if other tasks run beside: then the
// machine does too many.
func (p *workerPool) crowded(err error, end ending) (ending, bool) {
	if end.How != endDied || !queue.HasStarved(err) {
		return end, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy < 2 {
		return end, false
	}
	end.How, end.Delay = endBack, p.l.o.BackOff
	return end, true
}

// clip shortens a reason for the entry of a worker.
func clip(s string) string {
	if len(s) > mostReason/2 {
		return strings.ToValidUTF8(s[:mostReason/2], "") + " ..."
	}
	return s
}
