package live

import (
	"context"
	"errors"
	"sync"

	"vidfilter/internal/wake"
)

// errClosed is the end of a mailbox.
var errClosed = errors.New("live: the session has ended")

// mailbox is a short queue. put never blocks: it drops the oldest item when full. wait keeps all.
type mailbox[T any] struct {
	mu     sync.Mutex
	items  []T
	depth  int
	closed bool
	full   chan struct{} // holds an element while there may be items
	room   chan struct{} // holds an element when there may be room again
	drop   func(T)
}

func newMailbox[T any](depth int, drop func(T)) *mailbox[T] {
	return &mailbox[T]{depth: depth, full: make(chan struct{}, 1), room: make(chan struct{}, 1), drop: drop}
}

// put takes x, and reports whether another one was dropped for it.
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
	wake.Up(m.full)
	return dropped
}

// wait takes x when there is room for it, or drops it when ctx ends.
func (m *mailbox[T]) wait(ctx context.Context, x T) error {
	for !m.offer(x) {
		select {
		case <-m.room:
		case <-ctx.Done():
			m.drop(x)
			return context.Cause(ctx)
		}
	}
	return nil
}

// offer takes x, unless there is no room for it.
func (m *mailbox[T]) offer(x T) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		m.drop(x)
	case len(m.items) == m.depth:
		return false
	default:
		m.items = append(m.items, x)
		wake.Up(m.full)
	}
	return true
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
	wake.Up(m.room)
	if len(m.items) > 0 || m.closed {
		wake.Up(m.full)
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

// close refuses new values, and drops the rest.
func (m *mailbox[T]) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.items {
		m.drop(x)
	}
	m.items, m.closed = nil, true
	wake.Up(m.full)
	wake.Up(m.room)
}
