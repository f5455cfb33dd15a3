package live

import (
	"context"
	"errors"
	"sync"
)

// errClosed is the end of a mailbox.
var errClosed = errors.New("live: the session has ended")

// mailbox is a queue of a few that never blocks who puts: the oldest goes when it is full.
type mailbox[T any] struct {
	mu     sync.Mutex
	items  []T
	depth  int
	closed bool
	full   chan struct{} // holds an element while there may be items
	drop   func(T)
}

func newMailbox[T any](depth int, drop func(T)) *mailbox[T] {
	return &mailbox[T]{depth: depth, full: make(chan struct{}, 1), drop: drop}
}

// put takes x, and says whether another one had to go for it.
func (m *mailbox[T]) put(x T) (dropped bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		m.drop(x)
		return false
	}
	if len(m.items) == m.depth {
		m.drop(m.items[0])
		m.items = m.items[1:]
		dropped = true
	}
	m.items = append(m.items, x)
	poke(m.full)
	return dropped
}

// try returns the oldest item, if there is one.
func (m *mailbox[T]) try() (x T, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.items) == 0 {
		if m.closed {
			err = errClosed
		}
		return x, false, err
	}
	x = m.items[0]
	m.items = m.items[1:]
	if len(m.items) > 0 || m.closed {
		poke(m.full)
	}
	return x, true, nil
}

// get waits for the oldest item.
func (m *mailbox[T]) get(ctx context.Context) (T, error) {
	for {
		x, ok, err := m.try()
		if ok || err != nil {
			return x, err
		}
		select {
		case <-m.full:
		case <-ctx.Done():
			return x, context.Cause(ctx)
		}
	}
}

// close lets nothing in any more, and drops what nobody has taken.
func (m *mailbox[T]) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.items {
		m.drop(x)
	}
	m.items, m.closed = nil, true
	poke(m.full)
}
