package plane

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Rows calls do for 0..n-1 on all cores and returns when all calls have. Which core makes a call,
// and when, is not defined: the calls must write to different places, or add integers.
func Rows(n int, do func(y int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for y := int(next.Add(1)) - 1; y < n; y = int(next.Add(1)) - 1 {
				do(y)
			}
		})
	}
	wg.Wait()
}
