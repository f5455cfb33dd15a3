package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"vidfilter/pipeline"
)

// Pair is a picture before and after the filter. It is shared, read-only; who gets one releases it.
type Pair struct {
	ID                 int64 // rises; a picture that is filtered anew gets a new one
	Original, Filtered *pipeline.Frame

	Taken   time.Time // when the picture was taken, or came in, by the clock of this machine
	Stamp   float64   // when it was taken, in milliseconds of Unix time, by the clock of the machine with the camera
	Foreign bool      // that is another machine's clock

	Repeated bool // the picture was there before, with another filter

	refs atomic.Int32
}

// Retain adds an owner.
func (p *Pair) Retain() *Pair {
	p.refs.Add(1)
	return p
}

// Release gives up one ownership.
func (p *Pair) Release() {
	if p.refs.Add(-1) == 0 {
		p.Original.Release()
		p.Filtered.Release()
	}
}

// Watcher gets a session's pairs from when it is made. Next is for one goroutine.
type Watcher struct {
	s       *Session
	box     *mailbox[*Pair]
	dropped atomic.Int64
	once    sync.Once
}

// Watch returns a watcher that keeps up to depth pairs that have not been asked for, the newest ones. It begins with the pair that was
// handed out last, if there is one. The caller closes it.
func (s *Session) Watch(depth int) *Watcher {
	w := &Watcher{s: s, box: newMailbox(depth, (*Pair).Release)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		w.box.close()
		return w
	}
	s.watchers[w] = struct{}{}
	if s.last != nil {
		w.box.put(s.last.Retain())
	}
	return w
}

// Next waits for a pair; it is the caller's to release. It fails when ctx or the session ends.
func (w *Watcher) Next(ctx context.Context) (*Pair, error) { return w.box.get(ctx) }

// Again puts the pair that was handed out last in the box once more, for who has lost it.
func (w *Watcher) Again() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.s.last != nil {
		w.box.put(w.s.last.Retain())
	}
}

// Dropped returns how many pairs had to make room for newer ones.
func (w *Watcher) Dropped() int64 { return w.dropped.Load() }

// Close ends the watcher. It may be called twice.
func (w *Watcher) Close() {
	w.once.Do(func() {
		w.s.mu.Lock()
		delete(w.s.watchers, w)
		w.s.mu.Unlock()
		w.box.close()
	})
}

// publish hands a pair to all watchers. It takes p.
func (s *Session) publish(p *Pair) {
	p.refs.Store(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	p.ID = s.ids
	for w := range s.watchers {
		if w.box.put(p.Retain()) {
			w.dropped.Add(1)
		}
	}
	if s.last != nil {
		s.last.Release()
	}
	s.last = p
}
