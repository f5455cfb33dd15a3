// Package wake lets goroutines sleep, and wakes those that wait in a select.
package wake

import (
	"context"
	"time"
)

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
