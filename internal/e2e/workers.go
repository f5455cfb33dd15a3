package e2e

import (
	"context"
	"sync"
	"sync/atomic"
)

// Workers returns a function that calls do for 0 to count-1 on n goroutines, and waits for them.
func Workers(n int) func(ctx context.Context, count int, do func(int)) {
	return func(_ context.Context, count int, do func(int)) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
					do(i)
				}
			})
		}
		wg.Wait()
	}
}
