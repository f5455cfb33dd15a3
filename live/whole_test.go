package live

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
)

// WatchAll delivers every picture in order, however slow the watcher, and all of them by the end
// of the file. Watch delivers the newest meanwhile.
func TestWatchAll(t *testing.T) {
	const pictures = 12
	h, r := startHand(t, File, Options{})
	all, newest := r.WatchAll(2), r.Watch(1)
	defer all.Close()
	defer newest.Close()
	go func() {
		for n := range pictures {
			h.take(r, n)
		}
		h.fail <- io.EOF
	}()
	for n := range pictures {
		if n == 3 {
			time.Sleep(50 * time.Millisecond) // for the others to queue up
		}
		if n == pictures-2 { // as many as the watcher holds: with these the file has ended
			r.reach("ended", func(st State) bool { return st.Status == Ended })
		}
		p := r.next(all)
		if p.Taken != time.Unix(1000, int64(n)) {
			t.Errorf("picture %d was taken at %v", n, p.Taken)
		}
		p.Release()
	}
	last := r.next(newest)
	if last.Taken != time.Unix(1000, pictures-1) {
		t.Errorf("the newest is of %v", last.Taken)
	}
	last.Release()
	if f := r.Figures(); f.DroppedFilter != 0 || all.Dropped() != 0 || newest.Dropped() == 0 {
		t.Errorf("%d pictures dropped before the filter, %d for who wants all, %d for who looks", f.DroppedFilter, all.Dropped(), newest.Dropped())
	}
}

// An idle watcher of all pairs blocks the file until it closes or the session ends.
func TestWatchAllLeaves(t *testing.T) {
	for _, leave := range []func(*rig, *Watcher){
		func(_ *rig, w *Watcher) { w.Close() },
		func(r *rig, _ *Watcher) { _ = r.end() },
	} {
		h, r := startHand(t, File, Options{})
		w := r.WatchAll(1)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for n := range 9 {
				shot := h.shot(r, n)
				select {
				case h.shots <- shot:
				case <-time.After(100 * time.Millisecond):
					if n < 2 || n > 6 {
						t.Errorf("held up at picture %d", n)
					}
					shot.release()
					leave(r, w)
					return
				}
			}
			t.Error("nothing is held up")
		}()
		<-ended
		w.Close()
	}
}

func TestMailboxWaits(t *testing.T) {
	var dropped []int
	m := newMailbox(1, func(n int) { dropped = append(dropped, n) })
	m.put(1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := m.wait(ctx, 2); err == nil || len(dropped) != 1 || dropped[0] != 2 {
		t.Errorf("%v, dropped %v", err, dropped)
	}
	done := make(chan error)
	go func() { done <- m.wait(t.Context(), 3) }()
	if n, err := m.get(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n, err := m.get(t.Context()); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	m.close()
	if err := m.wait(t.Context(), 4); err != nil || dropped[len(dropped)-1] != 4 {
		t.Errorf("%v, dropped %v", err, dropped)
	}
}

// A file's clock counts from its first picture, and continues when it is played again.
func TestFileClock(t *testing.T) {
	var played time.Duration
	const s = time.Second
	for round := range time.Duration(2) {
		c := clock{end: &played}
		for n, want := range []time.Duration{0, 2 * s, 3 * s} {
			if got := c.at([]time.Duration{7 * s, 9 * s, 10 * s}[n], s); got != want+4*s*round {
				t.Errorf("round %d, picture %d: %v", round, n, got)
			}
		}
	}
}

// TestLookAhead: with a look-ahead each picture comes with the next one, and not without; all have
// come by the end of the file. The shown one is filtered anew when the filter changes.
func TestLookAhead(t *testing.T) {
	for ahead := range 2 {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			h, r := startHand(t, File, Options{Filter: FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto"), LookAhead: ahead})
			w := r.WatchAll(8)
			defer w.Close()
			shown := func(n int, repeated bool) {
				t.Helper()
				p := r.next(w)
				defer p.Release()
				if p.Taken != time.Unix(1000, int64(n)) || p.Repeated != repeated || p.Filtered.Width != p.Original.Width {
					t.Errorf("picture %d, not %d, repeated %v", p.Taken.Nanosecond(), n, p.Repeated)
				}
			}
			for n := range 5 {
				h.take(r, n)
				if n >= ahead {
					shown(n-ahead, false)
				}
				soon, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
				if p, err := w.Next(soon); err == nil {
					t.Errorf("picture %d comes before the next is taken", p.Taken.Nanosecond())
				}
				cancel()
			}
			strength := func(x float64) {
				t.Helper()
				e2e.Must(t, r.apply(fmt.Sprintf(`{"strength": %g}`, x)))
			}
			strength(1.5)
			shown(4-ahead, true)
			h.fail <- io.EOF
			if ahead > 0 {
				shown(4, false)
			}
			r.reach("ended", func(st State) bool { return st.Status == Ended })
			strength(2)
			shown(4, true)
			if n := w.Dropped(); n != 0 {
				t.Errorf("%d pictures are missing", n)
			}
		})
	}
}
