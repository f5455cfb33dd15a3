package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Limits of the questions of a credential: those at work at the same time, and those that wait.
const (
	mostAtWork  = 16
	mostWaiting = 256
	mostBytes   = 32 << 20 // of those that wait
)

// errTooMany is the error of a question that is one too many. Clients ask again.
var errTooMany = errors.New("queue: this credential asks too much at once")

// lanes has questions answered, a few of each credential at a time, so that none is in the way of
// others.
type lanes struct {
	answer func(m *nats.Msg)
	refuse func(m *nats.Msg)

	mu   sync.Mutex
	each map[string]*lane // by credential
	done sync.WaitGroup
}

// lane is what a credential asks.
type lane struct {
	atWork  int
	waiting []asked
	bytes   int
}

type asked struct {
	m  *nats.Msg
	at time.Time
}

func (l *lanes) add(ctx context.Context, name string, m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.each[name]
	if n == nil {
		n = &lane{}
		l.each[name] = n
	}
	switch {
	case n.atWork < mostAtWork:
		n.atWork++
		l.done.Go(func() { l.work(ctx, name, n, m) })
	case len(n.waiting) < mostWaiting && n.bytes+len(m.Data) < mostBytes:
		n.waiting = append(n.waiting, asked{m, time.Now()})
		n.bytes += len(m.Data)
	default:
		l.refuse(m)
	}
}

// work answers a question, and then those that wait.
func (l *lanes) work(ctx context.Context, name string, n *lane, m *nats.Msg) {
	for m != nil && ctx.Err() == nil {
		l.answer(m)
		m = l.next(name, n)
	}
}

// next returns a question that waits. Where none does, the work at the lane ends.
func (l *lanes) next(name string, n *lane) *nats.Msg {
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

// waits returns how many questions of each credential wait.
func (l *lanes) waits() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for name, n := range l.each {
		all[name] = len(n.waiting)
	}
	return all
}
