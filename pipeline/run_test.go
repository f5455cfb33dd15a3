package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/internal/e2e"
)

var errFake = errors.New("fake failure")

func upTo(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(i)
	}
	return s
}

func TestRunKeepsOrder(t *testing.T) {
	for _, holds := range [][]int{nil, {0}, {3}, {0, 2, 1}} {
		for _, frames := range []int{0, 1, 2, 50} {
			for _, depth := range []int{0, 1, 7} {
				bubbled(t, fmt.Sprint("hold", holds, "frames", frames, "depth", depth), func(t *testing.T) {
					r := newRig(t, frames)
					var m Meters
					fs := r.filters(holds...)
					err := Run(t.Context(), r, fs, r, Options{Depth: depth, Meters: &m})
					e2e.Must(t, err)
					r.checkEnd(nil, true)
					if !slices.Equal(r.got, upTo(frames)) {
						t.Errorf("got %v", r.got)
					}
					n := int64(frames)
					filtered := min(1, int64(len(holds))) * n // each frame counts once
					if m.Decode.Frames() != n || m.Encode.Frames() != n || m.Filter.Frames() != filtered {
						t.Errorf("meters count %d, %d, %d", m.Decode.Frames(), m.Filter.Frames(), m.Encode.Frames())
					}
					for _, f := range fs {
						if f.(*fake).discards != 0 {
							t.Error("Discard after a run that went well")
						}
					}
				})
			}
		}
	}
}

func TestRunFiltersThatEmitNoneOrMany(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4)
		fs := []Filter{&fake{r: r, times: 3, hold: 2}, &fake{r: r, index: 1, times: 2}}
		e2e.Must(t, Run(t.Context(), r, fs, r, Options{}))
		r.checkEnd(nil, true)
		if len(r.got) != 4*3*2 {
			t.Errorf("got %v", r.got)
		}
	})
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4)
		e2e.Must(t, Run(t.Context(), r, []Filter{&fake{r: r, times: 0}}, r, Options{}))
		r.checkEnd(nil, true)
		if len(r.got) != 0 {
			t.Errorf("got %v", r.got)
		}
	})
}

// The points of a run of six frames with two filters where something may go wrong.
var points = []struct {
	name string
	n    int
}{
	{"next", 0}, {"next", 3}, {"next", 6}, {"process0", 0}, {"process0", 3}, {"flush0", 0},
	{"process1", 0}, {"process1", 3}, {"flush1", 0}, {"put", 0}, {"put", 3}, {"finish", 0},
}

// A run fails at one point while a stage is blocked at another. If the blocked stage keeps the
// failure from being reached, the run is cancelled from outside instead.
func TestRunFailsAnywhereWhileOthersBlock(t *testing.T) {
	errCancel := errors.New("cancelled from outside")
	for _, fail := range points {
		for _, block := range points {
			for _, slots := range []int{0, 4} { // 4 is the smallest pool: the filters hold 3
				bubbled(t, fmt.Sprintf("fail=%s,%d/block=%s,%d/pool=%d", fail.name, fail.n, block.name, block.n, slots), func(t *testing.T) {
					r := newRig(t, 6)
					if slots > 0 {
						r.pool = NewPool(&heap{}, slots)
					}
					failed := false
					r.hook = func(ctx context.Context, point string, n int) error {
						switch {
						case point == block.name && n == block.n:
							<-ctx.Done()
							return fmt.Errorf("woken: %w", ctx.Err())
						case point == fail.name && n == fail.n:
							failed = true
							return errFake
						}
						return nil
					}
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					end := make(chan error, 1)
					go func() { end <- Run(ctx, r, r.filters(1, 2), r, Options{}) }()
					synctest.Wait()
					want := errFake
					if !failed {
						want = errCancel
						cancel(errCancel)
					}
					if err := <-end; err != want {
						t.Errorf("Run returned %v, want %v", err, want)
					}
					reached := fail.name == "finish" && failed || block.name == "finish" && want == errCancel
					r.checkEnd(want, reached)
					if r.pool != nil && r.pool.InUse() != 0 {
						t.Errorf("%d blocks still out", r.pool.InUse())
					}
				})
			}
		}
	}
}

func TestRunFailsAnywhere(t *testing.T) {
	for _, fail := range points {
		bubbled(t, fmt.Sprint(fail.name, fail.n), func(t *testing.T) {
			r := newRig(t, 6)
			r.hook = failing(fail.name, fail.n, errFake)
			err := Run(t.Context(), r, r.filters(1, 2), r, Options{})
			if err != errFake {
				t.Errorf("Run returned %v", err)
			}
			r.checkEnd(err, fail.name == "finish")
			// A filter is not flushed either when a stage before it has failed.
			upstream := map[string][]string{"flush0": {"next", "process0"}, "flush1": {"next", "process0", "flush0", "process1"}}
			for flush, before := range upstream {
				if slices.Contains(before, fail.name) && r.calls[flush] > 0 {
					t.Errorf("%s was called", flush)
				}
			}
		})
	}
}

func TestRunCancelledBeforeStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 6)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Run(ctx, r, r.filters(0), r, Options{}); err != context.Canceled {
			t.Errorf("Run returned %v", err)
		}
		r.checkEnd(nil, false)
		if r.calls["next"] != 0 {
			t.Error("a cancelled run read a frame")
		}
	})
}

func TestRunCancelledAfterFinishIsDone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3)
		ctx, cancel := context.WithCancel(t.Context())
		r.hook = func(_ context.Context, point string, _ int) error {
			if point == "finish" {
				cancel()
			}
			return nil
		}
		if err := Run(ctx, r, nil, r, Options{}); err != nil {
			t.Errorf("the output is whole, but Run returned %v", err)
		}
		r.checkEnd(nil, true)
	})
}

// An error that wraps io.EOF is not the end of the stream.
func TestRunWrappedEOFIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3)
		broken := fmt.Errorf("read: %w", io.EOF)
		r.hook = failing("next", 1, broken)
		if err := Run(t.Context(), r, nil, r, Options{}); err != broken {
			t.Errorf("Run returned %v", err)
		}
		r.checkEnd(broken, false)
	})
}

// swallow is a filter that ignores the errors of emit.
type swallow struct{}

func (swallow) Held() int                         { return 0 }
func (swallow) Flush(context.Context, Emit) error { return nil }
func (swallow) Process(_ context.Context, f *Frame, emit Emit) error {
	_ = emit(f)
	return nil
}

func TestRunFilterThatIgnoresEmitErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 6)
		r.hook = failing("put", 2, errFake)
		if err := Run(t.Context(), r, []Filter{swallow{}, swallow{}}, r, Options{}); err != errFake {
			t.Errorf("Run returned %v", err)
		}
		r.checkEnd(errFake, false)
	})
}

// quitter gives up flushing when emit fails, and hides it.
type quitter struct{ *fake }

func (q quitter) Flush(ctx context.Context, emit Emit) error {
	_ = q.fake.Flush(ctx, emit)
	return nil
}

func TestRunDiscardsWhenAFlushHidesItsError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 8)
		r.hook = failing("put", 3, errFake)
		f := &fake{r: r, hold: 6, times: 1}
		if err := Run(t.Context(), r, []Filter{quitter{f}}, r, Options{}); err != errFake {
			t.Errorf("Run returned %v", err)
		}
		r.checkEnd(errFake, false)
		if f.discards != 1 {
			t.Errorf("Discard was called %d times", f.discards)
		}
	})
}

type hoarder struct{ swallow }

func (hoarder) Held() int { return 1 }

func TestRunRefusesFiltersThatCannotDiscard(t *testing.T) {
	r := newRig(t, 1)
	err := Run(t.Context(), r, []Filter{hoarder{}}, r, Options{})
	if err == nil || !strings.Contains(err.Error(), "hoarder") {
		t.Errorf("Run returned %v", err)
	}
	r.checkEnd(err, false)
}

func TestStop(t *testing.T) {
	bubbled(t, "before the start", func(t *testing.T) {
		r := newRig(t, 6)
		stop := make(chan struct{})
		close(stop)
		if err := Run(t.Context(), r, r.filters(1), r, Options{Stop: stop}); err != nil {
			t.Error(err)
		}
		r.checkEnd(nil, true)
		if len(r.got) != 0 {
			t.Errorf("got %v", r.got)
		}
	})
	bubbled(t, "in mid-stream", func(t *testing.T) {
		r := newRig(t, 1000)
		stop := make(chan struct{})
		r.hook = func(_ context.Context, point string, n int) error {
			if point == "put" && n == 5 {
				close(stop)
			}
			return nil
		}
		if err := Run(t.Context(), r, r.filters(2, 0), r, Options{Stop: stop}); err != nil {
			t.Error(err)
		}
		r.checkEnd(nil, true)
		read := r.calls["next"]
		if len(r.got) < 6 || len(r.got) != read || read > 30 {
			t.Errorf("read %d frames, wrote %d", read, len(r.got))
		}
	})
	bubbled(t, "while the source waits", func(t *testing.T) {
		r := newRig(t, 1000)
		r.hook = func(ctx context.Context, point string, n int) error {
			if point == "next" && n == 4 {
				<-ctx.Done()
				return fmt.Errorf("decode: interrupted: %w", context.Cause(ctx))
			}
			return nil
		}
		stop := make(chan struct{})
		end := make(chan error, 1)
		go func() { end <- Run(t.Context(), r, r.filters(2), r, Options{Stop: stop}) }()
		synctest.Wait()
		close(stop)
		if err := <-end; err != nil {
			t.Error(err)
		}
		r.checkEnd(nil, true)
		if !slices.Equal(r.got, upTo(4)) {
			t.Errorf("got %v", r.got)
		}
	})
	bubbled(t, "does not hide a failure", func(t *testing.T) {
		r := newRig(t, 1000)
		stop := make(chan struct{})
		r.hook = func(_ context.Context, point string, n int) error {
			if point == "next" && n == 4 {
				close(stop)
				return errFake
			}
			return nil
		}
		if err := Run(t.Context(), r, nil, r, Options{Stop: stop}); err != errFake {
			t.Errorf("Run returned %v", err)
		}
		r.checkEnd(errFake, false)
	})
	bubbled(t, "then cancel", func(t *testing.T) {
		r := newRig(t, 1000)
		r.hook = func(ctx context.Context, point string, n int) error {
			if point == "put" && n == 1 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}
		stop := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan error, 1)
		go func() { end <- Run(ctx, r, r.filters(2), r, Options{Stop: stop}) }()
		synctest.Wait()
		close(stop)
		synctest.Wait()
		cancel()
		if err := <-end; err != context.Canceled {
			t.Errorf("Run returned %v", err)
		}
		r.checkEnd(nil, false)
	})
}

// The source's pool needs a block for each frame that filters hold, and one to move. With one
// fewer the filters wait for another frame before they let one go, and the source waits for a
// block: a hang, which only ctx ends.
func TestSmallestPool(t *testing.T) {
	for _, holds := range [][]int{nil, {0, 0, 0}, {1}, {2, 3}} {
		need := 1
		for _, h := range holds {
			need += h
		}
		run := func(t *testing.T, slots int) (r *rig, err error) {
			r = newRig(t, 20)
			r.pool = NewPool(&heap{}, slots)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			return r, Run(ctx, r, r.filters(holds...), r, Options{})
		}
		bubbled(t, fmt.Sprint("hold", holds), func(t *testing.T) {
			r, err := run(t, need)
			if err != nil {
				t.Error(err)
			}
			r.checkEnd(err, true)
			if len(r.got) != 20 {
				t.Errorf("got %v", r.got)
			}
		})
		bubble(t, func(t *testing.T) {
			began := time.Now()
			r, err := run(t, need-1)
			if err != context.DeadlineExceeded || time.Since(began) != time.Hour {
				t.Errorf("Run returned %v after %v, want a hang until the deadline", err, time.Since(began))
			}
			r.checkEnd(err, false)
		})
	}
}

// Each stage works for a second a frame but the filter, which needs three: the others wait for it.
func TestMetersCountWorkAndNotWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 5)
		r.pool = NewPool(&heap{}, 1) // makes the source wait for blocks
		r.hook = func(_ context.Context, point string, n int) error {
			switch {
			case point == "next" && n < 5, point == "put":
				time.Sleep(time.Second)
			case point == "process0":
				time.Sleep(3 * time.Second)
			}
			return nil
		}
		var m Meters
		began := time.Now()
		e2e.Must(t, Run(t.Context(), r, r.filters(0), r, Options{Meters: &m}))
		if m.Decode.Busy() != 5*time.Second || m.Filter.Busy() != 15*time.Second || m.Encode.Busy() != 5*time.Second {
			t.Errorf("busy %v, %v, %v", m.Decode.Busy(), m.Filter.Busy(), m.Encode.Busy())
		}
		// The source's second overlaps with the work on the frame before, but one block is all
		// there is.
		if d := time.Since(began); d < 21*time.Second || d > 25*time.Second {
			t.Errorf("took %v", d)
		}
	})
	bubble(t, func(t *testing.T) { // a slow sink: filter and source wait in the channels
		r := newRig(t, 9)
		r.hook = func(_ context.Context, point string, _ int) error {
			if point == "put" {
				time.Sleep(time.Second)
			}
			return nil
		}
		var m Meters
		e2e.Must(t, Run(t.Context(), r, r.filters(2), r, Options{Meters: &m}))
		if m.Decode.Busy() != 0 || m.Filter.Busy() != 0 || m.Encode.Busy() != 9*time.Second {
			t.Errorf("busy %v, %v, %v", m.Decode.Busy(), m.Filter.Busy(), m.Encode.Busy())
		}
	})
}

// Two goroutines of one stage that wait at the same time add up to more than the elapsed time.
func TestMeterIsNeverNegative(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var m Meter
		err := m.time(t.Context(), func(ctx context.Context) error {
			p := NewPool(&heap{}, 1)
			_, put, _ := p.Get(ctx, 10)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					_, put, _ := p.Get(ctx, 10)
					put()
				})
			}
			time.Sleep(time.Second)
			put()
			wg.Wait()
			return nil
		})
		if err != nil || m.Busy() != 0 {
			t.Errorf("busy %v, %v", m.Busy(), err)
		}
	})
}

// Random chains on the real scheduler with random failures, cancellations and stops.
func TestRunRandomSchedules(t *testing.T) {
	before := runtime.NumGoroutine()
	for seed := range 300 {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		r := newRig(t, rng.IntN(40))
		slots := 1
		var fs []Filter
		for i := range rng.IntN(4) {
			f := &fake{r: r, index: i, hold: rng.IntN(3), times: 1}
			if rng.IntN(4) == 0 {
				f.times = rng.IntN(3)
			}
			slots += f.hold
			fs = append(fs, f)
		}
		mem := &heap{}
		r.pool = NewPool(mem, slots+rng.IntN(4))
		failAt := int64(-1)
		if rng.IntN(2) == 0 {
			failAt = rng.Int64N(200)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := make(chan struct{})
		cancelAt, stopAt := rng.Int64N(400), rng.Int64N(400)
		var calls atomic.Int64
		var failed atomic.Bool
		r.hook = func(_ context.Context, point string, _ int) error {
			n := calls.Add(1) - 1
			switch n % 7 {
			case 0:
				runtime.Gosched()
			case 3:
				time.Sleep(time.Duration(n%50) * time.Microsecond)
			}
			if n == cancelAt {
				cancel(errFake)
			}
			if n == stopAt {
				close(stop)
			}
			if n == failAt {
				failed.Store(true)
				return errFake
			}
			return nil
		}
		err := Run(ctx, r, fs, r, Options{Depth: rng.IntN(4), Stop: stop})
		switch {
		case err != nil && err != errFake:
			t.Errorf("seed %d: %v", seed, err)
		case err == nil && (failed.Load() || r.finished != 1):
			t.Errorf("seed %d: success, but a stage failed or Finish was called %d times", seed, r.finished)
		}
		r.checkEnd(err, r.finished == 1)
		if n := r.pool.InUse(); n != 0 {
			t.Errorf("seed %d: %d blocks still out", seed, n)
		}
		r.pool.Close()
		if n := mem.live.Load(); n != 0 {
			t.Errorf("seed %d: %d blocks never freed", seed, n)
		}
		cancel(nil)
		if t.Failed() {
			return
		}
	}
	// Goroutines that have done their work may still be on their way out.
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}
