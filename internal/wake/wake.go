// Package wake lets goroutines sleep, and wakes them: once, or every so often.
package wake

import (
	"context"
	"iter"
	"time"
)

// Soon yields at once, then every d until ctx ends.
func Soon(ctx context.Context, d time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if yield(time.Now()) {
			Every(ctx, d)(yield)
		}
	}
}

// Every yields every d until ctx ends.
func Every(ctx context.Context, d time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-t.C:
				if !yield(now) {
					return
				}
			}
		}
	}
}

// Up makes one receive from c succeed, without blocking. c has a buffer of one: calls that come
// before the receive count as one.
func Up(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sleep returns after d, or with the cause when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
