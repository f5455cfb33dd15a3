package job

import (
	"cmp"
	"context"
	"io"
	"sync"
)

// sequence holds the packets or frames of parts that are made side by side, in order. Parts after
// the one that is being written wait while too much is there.
type sequence[T any] struct {
	size func(T) int64
	free func(T)

	mu      sync.Mutex
	changed sync.Cond
	parts   []queue[T]
	taken   int // parts that have been begun
	now     int // the part that is being written
	waiting int64
	most    int64 // that may wait, by size
	flow    int   // as many of the part that is being written may wait in any case
	stopped bool
	err     error

	extras []string         // of decoders
	damage map[string]int64 // that they found
}

type queue[T any] struct {
	waiting []T
	cancel  context.CancelFunc
	done    bool
}

func newSequence[T any](parts int, size func(T) int64, free func(T), most int64, flow int) *sequence[T] {
	s := &sequence[T]{size: size, free: free, damage: map[string]int64{}, parts: make([]queue[T], parts), most: most, flow: flow}
	s.changed.L = &s.mu
	return s
}

// take returns the next part to begin, and a context for it.
func (s *sequence[T]) take(ctx context.Context) (k int, _ context.Context, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == len(s.parts) || s.stopped || s.err != nil {
		return 0, nil, false
	}
	k = s.taken
	s.taken++
	ctx, s.parts[k].cancel = context.WithCancel(ctx)
	return k, ctx, true
}

// wakeWith has those who wait look again when a context ends.
func (s *sequence[T]) wakeWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
}

// give adds an item to a part, and takes it, also when it fails. The part that is being written
// never waits for another, so that there is always one that goes on.
func (s *sequence[T]) give(ctx context.Context, k int, item T) error {
	defer s.wakeWith(ctx)()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.parts[k]
	for s.waiting+s.size(item) > s.most && !(k == s.now && len(p.waiting) < s.flow) && s.err == nil && ctx.Err() == nil {
		s.changed.Wait()
	}
	if err := cmp.Or(s.err, context.Cause(ctx)); err != nil {
		s.free(item)
		return err
	}
	p.waiting = append(p.waiting, item)
	s.waiting += s.size(item)
	s.changed.Broadcast()
	return nil
}

// done says that a part has all its items.
func (s *sequence[T]) done(k int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[k].done = true
	s.parts[k].cancel()
	s.changed.Broadcast()
}

// add keeps the extras of a decoder, see decode.Input.Extras, and the damage that it found.
func (s *sequence[T]) add(extras []string, damage map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extras = append(s.extras, extras...)
	for name, n := range damage {
		s.damage[name] += n
	}
}

// stop ends the sequence with the part that is being written.
func (s *sequence[T]) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for k := s.now + 1; k < s.taken; k++ {
		s.parts[k].cancel()
	}
	s.changed.Broadcast()
}

// fail ends the sequence by the error of a part. Those that stop has cancelled have one for that.
func (s *sequence[T]) fail(k int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped || k <= s.now {
		s.close(err)
	}
}

// end ends the sequence by an error.
func (s *sequence[T]) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(err)
}

// close frees all items. The first error is the one that next returns.
func (s *sequence[T]) close(err error) {
	s.err = cmp.Or(s.err, err)
	for k := range s.parts {
		for _, item := range s.parts[k].waiting {
			s.free(item)
		}
		s.parts[k].waiting = nil
		if s.parts[k].cancel != nil {
			s.parts[k].cancel()
		}
	}
	s.changed.Broadcast()
}

// next returns the next item, which it gives away; io.EOF after the last one.
func (s *sequence[T]) next(ctx context.Context) (item T, err error) {
	defer s.wakeWith(ctx)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && ctx.Err() == nil {
		switch p := &s.parts[s.now]; {
		case len(p.waiting) > 0:
			item, p.waiting = p.waiting[0], p.waiting[1:]
			s.waiting -= s.size(item)
			s.changed.Broadcast()
			return item, nil
		case !p.done && !(s.stopped && s.now == s.taken):
			s.changed.Wait()
		case s.stopped || s.now == len(s.parts)-1:
			return item, io.EOF
		default:
			s.now++
			s.changed.Broadcast()
		}
	}
	return item, cmp.Or(s.err, context.Cause(ctx))
}
