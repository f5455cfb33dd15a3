package live

import (
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/internal/e2e"
)

// Pictures that a pipe brings at their own speed are shown as they come, even if the first came
// late; those of a file keep their time.
func TestPaceOfPipes(t *testing.T) {
	const interval, late = 40 * time.Millisecond, 300 * time.Millisecond
	for _, most := range []time.Duration{0, spare} {
		synctest.Test(t, func(t *testing.T) {
			p, begin := pace{most: most}, time.Now()
			var waited time.Duration
			for n := range 100 {
				came := begin.Add(time.Duration(n) * interval)
				if n == 0 {
					came = came.Add(late)
				}
				time.Sleep(time.Until(came))
				before := time.Now()
				e2e.Must(t, p.wait(t.Context(), time.Duration(n)*interval))
				waited = time.Since(before)
			}
			if most == 0 && waited < interval/2 {
				t.Errorf("a file's picture waits %v", waited)
			}
			if most > 0 && waited > 0 {
				t.Errorf("a pipe's picture waits %v", waited)
			}
		})
	}
}

// A piped file, which comes as fast as it is read, still plays at its own speed.
func TestPaceOfPipedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := pace{most: spare}, time.Now()
		const length = time.Minute
		for at := time.Duration(0); at <= length; at += 40 * time.Millisecond {
			e2e.Must(t, p.wait(t.Context(), at))
		}
		if took := time.Since(begin); took < length-spare-length/500 {
			t.Errorf("a minute is played in %v", took)
		}
	})
}
