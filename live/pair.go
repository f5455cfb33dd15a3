package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"vidfilter/live/sound"
	"vidfilter/pipeline"
)

// Pair is a picture before and after the filter. It is shared and read-only. The receiver releases
// it.
type Pair struct {
	ID                 int64           // increasing; refiltering assigns a new one
	Original, Filtered *pipeline.Frame // both cropped and scaled

	source, input *pipeline.Frame // as it was taken, and as the main filter read it

	// While two settings are compared, the side of Filtered, and the picture by the settings of the
	// other side; "" and nil otherwise.
	Side  Side
	Other *pipeline.Frame

	Taken   time.Time // capture or arrival time by this machine's clock
	Stamp   float64   // Unix time of capture in milliseconds, by the camera machine's clock
	Foreign bool      // that is another machine's clock

	At, Place time.Duration // see Shot

	Repeated bool // the same picture with another filter

	refs atomic.Int32
}

// Sides returns the pictures that viewers compare: the original and the filtered one, or sides A
// and B. They belong to the pair.
func (p *Pair) Sides() (left, right *pipeline.Frame) {
	switch p.Side {
	case SideA:
		return p.Filtered, p.Other
	case SideB:
		return p.Other, p.Filtered
	}
	return p.Original, p.Filtered
}

// Retain adds an owner.
func (p *Pair) Retain() *Pair {
	p.refs.Add(1)
	return p
}

// Release gives up one ownership.
func (p *Pair) Release() {
	if p.refs.Add(-1) == 0 {
		releaseFrames(p.Original, p.Filtered, p.source, p.input, p.Other)
	}
}

// Watcher receives the pairs of a session from its creation on. Next is for one goroutine.
type Watcher struct {
	s       *Session
	box     *mailbox[*Pair]
	all     bool
	listens bool           // as is sounds, under s.mu
	sounds  []sound.Packet // not yet taken
	dropped atomic.Int64
	once    sync.Once
}

// Watch returns a watcher that keeps the newest depth pairs not yet taken. It begins with the
// latest pair, if any. The caller closes it.
func (s *Session) Watch(depth int) *Watcher { return s.watch(depth, false) }

// WatchAll is Watch without loss: the filter waits while depth pairs are pending, and a file as
// source waits for the filter.
func (s *Session) WatchAll(depth int) *Watcher { return s.watch(depth, true) }

func (s *Session) watch(depth int, all bool) *Watcher {
	w := &Watcher{s: s, box: newMailbox(depth, (*Pair).Release), all: all}
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

// Next waits for a pair. The caller releases it. It fails when ctx or the session ends.
func (w *Watcher) Next(ctx context.Context) (*Pair, error) { return w.box.get(ctx) }

// Again requeues the last pair, for a watcher that has lost it.
func (w *Watcher) Again() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.s.last != nil {
		w.box.put(w.s.last.Retain())
	}
}

// Dropped returns the number of pairs dropped for newer ones.
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

// Latest returns the latest pair, which is the caller's to release, or nil.
func (s *Session) Latest() *Pair {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return nil
	}
	return s.last.Retain()
}

// needsAll reports whether a watcher needs every picture of a source that can wait.
func (s *Session) needsAll() bool {
	if s.o.Input.Kind != File {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if w.all {
			return true
		}
	}
	return false
}

// publish hands a pair to all watchers. It takes p.
func (s *Session) publish(ctx context.Context, p *Pair) error {
	for _, w := range s.show(p) {
		if err := w.box.wait(ctx, p.Retain()); err != nil {
			p.Release()
			return err
		}
	}
	p.Release()
	return nil
}

// show hands p to the watchers that may miss pairs, and returns those that need all. The caller
// keeps its ownership.
func (s *Session) show(p *Pair) (all []*Watcher) {
	p.refs.Store(2)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	p.ID = s.ids
	if shown := shapeOf(p.source, p.Filtered); shown != s.shape {
		s.shape = shown
		s.announce()
	}
	s.soundUntil(p)
	for w := range s.watchers {
		if w.all {
			all = append(all, w)
		} else if w.box.put(p.Retain()) {
			w.dropped.Add(1)
		}
	}
	if s.last != nil {
		s.last.Release()
	}
	s.last = p
	return all
}
