package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Limits of the requests of a credential.
const (
	mostAtWork  = 16 // at the same time
	mostWaiting = 256
	mostBytes   = 32 << 20 // of waiting ones
)

// errTooMany is the error of a request beyond the limits. Clients ask again.
var errTooMany = errors.New("queue: this credential asks too much at once")

// callerQueues passes requests to answer, a few of each credential at a time, so that no credential
// blocks others.
type callerQueues struct {
	answer func(m *nats.Msg)
	refuse func(m *nats.Msg)

	mu   sync.Mutex
	each map[string]*callerQueue // by credential
	done sync.WaitGroup
}

// callerQueue holds the requests of a credential.
type callerQueue struct {
	atWork  int
	waiting []queuedRequest
	bytes   int
}

type queuedRequest struct {
	m  *nats.Msg
	at time.Time
}

func (l *callerQueues) add(ctx context.Context, name string, m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil { // end waits for those at work, and there must be no more of them
		return
	}
	n := l.each[name]
	if n == nil {
		n = &callerQueue{}
		l.each[name] = n
	}
	switch {
	case n.atWork < mostAtWork:
		n.atWork++
		l.done.Go(func() { l.work(ctx, name, n, m) })
	case len(n.waiting) < mostWaiting && n.bytes+len(m.Data) < mostBytes:
		n.waiting = append(n.waiting, queuedRequest{m, time.Now()})
		n.bytes += len(m.Data)
	default:
		l.refuse(m)
	}
}

// end cancels the context of requests by stop, and waits until those at work are answered.
func (l *callerQueues) end(stop context.CancelFunc) {
	l.mu.Lock()
	stop()
	l.mu.Unlock()
	l.done.Wait()
}

// work answers a request, and then the waiting ones.
func (l *callerQueues) work(ctx context.Context, name string, n *callerQueue, m *nats.Msg) {
	for m != nil && ctx.Err() == nil {
		l.answer(m)
		m = l.next(name, n)
	}
}

// next returns a waiting request, or nil, which ends the work at the queue.
func (l *callerQueues) next(name string, n *callerQueue) *nats.Msg {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(n.waiting) > 0 {
		q := n.waiting[0]
		n.waiting = n.waiting[1:]
		n.bytes -= len(q.m.Data)
		if time.Since(q.at) < askWithin { // else its client has asked again
			return q.m
		}
	}
	if n.atWork--; n.atWork == 0 {
		delete(l.each, name)
	}
	return nil
}

// waits returns the number of waiting requests of each credential.
func (l *callerQueues) waits() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for name, n := range l.each {
		all[name] = len(n.waiting)
	}
	return all
}
