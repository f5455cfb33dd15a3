package plane

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Rows is Each on all cores.
func Rows(n int, do func(y int)) { Each(0, n, do) }

// Each calls do for 0..n-1 on a number of threads (0: all cores) and returns when all calls have.
// Which thread makes a call, and when, is not defined: the calls must write to different places, or
// add integers.
func Each(threads, n int, do func(i int)) {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, threads) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
