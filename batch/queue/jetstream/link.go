package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/internal/wake"
)

// link is a connection to a server.
type link struct {
	o     Options
	names names
	nc    *nats.Conn

	drains []string // names under which its workers are told to drain

	closeOnce sync.Once
	onClose   []func() error // in reverse order
}

// newLink takes the connection.
func newLink(nc *nats.Conn, o Options) link {
	return link{o: o, names: names(o.Prefix), nc: nc, drains: []string{everyone}, onClose: []func() error{func() error { nc.Close(); return nil }}}
}

// Close ends the connection, and the server if it is embedded. Call it after Work has returned.
func (l *link) Close() error {
	var err error
	l.closeOnce.Do(func() {
		for i := len(l.onClose) - 1; i >= 0; i-- {
			err = errors.Join(err, l.onClose[i]())
		}
	})
	return err
}

// tell publishes an event. Events may be lost.
func (l *link) tell(kind string, c claim, body []byte) {
	_ = l.nc.Publish(l.names.event(kind, c), body)
}

// connected waits until the connection is up.
func (l *link) connected(ctx context.Context) error {
	for !l.nc.IsConnected() {
		if l.nc.IsClosed() {
			return errors.New("queue: the connection was closed")
		}
		if wake.Sleep(ctx, 100*time.Millisecond) != nil {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// persist calls f until it succeeds or ctx ends: the connection may be down for hours.
func (l *link) persist(ctx context.Context, what string, f func(ctx context.Context) error) error {
	pause := 50 * time.Millisecond
	for warned := false; ; {
		try, cancel := context.WithTimeout(ctx, 3*time.Second) // a killed server never answers
		err := f(try)
		cancel()
		if err == nil || final(err) || ctx.Err() != nil {
			return err
		}
		if pause > time.Second && !warned {
			warned = true
			l.o.Log.Warn(fmt.Sprintf("%s: still trying: %v", what, err))
			if l.o.Failing != nil {
				l.o.Failing()
			}
		}
		if wake.Sleep(ctx, pause) != nil {
			return err
		}
		pause = min(2*pause, 2*time.Second)
	}
}
