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
