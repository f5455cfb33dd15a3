package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/internal/e2e"
)

// numbered is an item of a sequence: number n of part k.
type numbered struct{ k, n int }

// counted returns a sequence of parts and the count of its live items.
func counted(parts int, most int64, flow int) (s *sequence[numbered], alive *atomic.Int64) {
	alive = new(atomic.Int64)
	return newSequence(parts, func(numbered) int64 { return 1 }, func(numbered) { alive.Add(-1) }, most, flow), alive
}

// fill starts workers that give each part's items, at their own pace, and returns a function to
// wait for them.
func fill(ctx context.Context, s *sequence[numbered], alive *atomic.Int64, workers, items int, fails func(k, n int) error) (wait func()) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				k, ctx, ok := s.take(ctx)
				if !ok {
					return
				}
				for n := range items {
					time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
					alive.Add(1)
					err := s.give(ctx, k, numbered{k, n})
					if err == nil {
						err = fails(k, n)
					}
					if err != nil {
						s.fail(k, err)
						return
					}
				}
				s.done(k)
			}
		})
	}
	return wg.Wait
}

func never(int, int) error { return nil }

// All items come in order, even with the smallest limits. Only the part that is being written may
// exceed the limit on waiting items.
func TestSequence(t *testing.T) {
	for _, c := range []struct {
		workers, flow int
		most          int64
	}{{1, 1, 1}, {2, 1, 1}, {5, 1, 1}, {5, 4, 1}, {5, 1, 3}, {5, 2, 20}, {8, 3, 1000}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const parts, items = 7, 9
				s, alive := counted(parts, c.most, c.flow)
				wait := fill(context.Background(), s, alive, c.workers, items, never)
				for k := range parts {
					for n := range items {
						time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
						got, err := s.next(context.Background())
						e2e.Must(t, err)
						if got != (numbered{k, n}) {
							t.Fatalf("%v comes instead of %d, %d", got, k, n)
						}
						s.mu.Lock()
						waiting := s.waiting
						s.mu.Unlock()
						if waiting > c.most+int64(c.flow) {
							t.Errorf("%d items wait", waiting)
						}
						if most := c.most + int64(c.flow+c.workers+1); alive.Load() > most { // each worker has one in hand
							t.Errorf("%d items are there, %d may be", alive.Load(), most)
						}
						alive.Add(-1)
					}
				}
				if _, err := s.next(context.Background()); err != io.EOF {
					t.Errorf("after the last one: %v", err)
				}
				wait()
				if alive.Load() != 0 {
					t.Errorf("%d items are left", alive.Load())
				}
			})
		})
	}
}

// However a sequence ends, no worker hangs and no item is left.
func TestSequenceEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		fails func(k, n int) error
		at    func(s *sequence[numbered], cancel context.CancelCauseFunc) // when two parts have come
		want  error
		least int // items that come
	}{
		{"a part fails", func(k, n int) error {
			if k == 4 && n == 3 {
				return broken
			}
			return nil
		}, nil, broken, 0},
		{"stopped", never, func(s *sequence[numbered], _ context.CancelCauseFunc) { s.stop() }, io.EOF, 2 * 9},
		{"cancelled", never, func(_ *sequence[numbered], cancel context.CancelCauseFunc) { cancel(broken) }, broken, 2 * 9},
		{"ended", never, func(s *sequence[numbered], _ context.CancelCauseFunc) { s.end(broken) }, broken, 2 * 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, alive := counted(7, 12, 1)
				ctx, cancel := context.WithCancelCause(context.Background())
				wait := fill(ctx, s, alive, 5, 9, c.fails)
				came := 0
				var err error
				for ; err == nil; came++ {
					if came == 2*9 && c.at != nil {
						synctest.Wait()
						c.at(s, cancel)
					}
					if _, err = s.next(ctx); err == nil {
						alive.Add(-1)
					}
				}
				if came--; !errors.Is(err, c.want) || came < c.least || came%9 > 0 && err == io.EOF {
					t.Errorf("%v after %d items", err, came)
				}
				cancel(err)
				s.end(err)
				wait()
				if alive.Load() != 0 {
					t.Errorf("%d items are left", alive.Load())
				}
			})
		})
	}
}
