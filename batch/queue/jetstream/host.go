package jetstream

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"vidfilter/internal/durable"
	"vidfilter/internal/wake"
)

// host is the server in this process. It can be restarted under its connections.
type host struct {
	dir      string
	o        *server.Options // options of each start
	accounts resolver
	log      *logger
	ns       atomic.Pointer[server.Server]
}

// resolver returns the accounts of a start; nil if there is no account.
type resolver func() (server.AccountResolver, error)

// newHost starts a server with its state in dir.
func newHost(dir string, o Options, so *server.Options, accounts resolver) (*host, error) {
	h := &host{dir: dir, o: so, accounts: accounts}
	h.log = &logger{Logger: o.Log, isLow: h.isLow, failing: o.Failing}
	return h, h.start()
}

func (h *host) start() error {
	so := h.o.Clone()
	if h.accounts != nil {
		var err error
		if so.AccountResolver, err = h.accounts(); err != nil {
			return err
		}
	}
	ns, err := run(h.dir, h.log, so)
	if err != nil {
		return err
	}
	h.ns.Store(ns)
	return nil
}

// InProcessConn connects this process without a socket, also after a restart.
func (h *host) InProcessConn() (net.Conn, error) { return h.ns.Load().InProcessConn() }

func (h *host) stop() error {
	ns := h.ns.Load()
	ns.Shutdown()
	ns.WaitForShutdown()
	return nil
}

// restart restarts the server at the same address.
func (h *host) restart() error {
	if at, ok := h.ns.Load().Addr().(*net.TCPAddr); ok && !h.o.DontListen {
		h.o.Port = at.Port
	}
	_ = h.stop()
	if err := h.start(); err != nil {
		return err
	}
	h.log.low.Store(false)
	return nil
}

const (
	healEvery = 2 * time.Second
	healRoom  = 8 << 20 // must be free for a restart
)

// isLow reports whether the disk is full or nearly so.
func (h *host) isLow() bool {
	free, _, err := durable.Space(h.dir)
	return err == nil && free < healRoom
}

// isFull reports whether the server cannot write: the disk was full when it logged an error, a
// write has failed, or it has shut JetStream down.
func (h *host) isFull() bool { return h.log.low.Load() || !h.ns.Load().JetStreamEnabled() }

// heal restarts the server after its disk was full or failed, once there is room, until ctx ends:
// it never writes again to a file that has failed.
func (h *host) heal(ctx context.Context) {
	for range wake.Every(ctx, healEvery) {
		if !h.isFull() || h.isLow() {
			continue
		}
		h.log.Logger.Warn("queue: a write failed, and the disk has room now: restarting the server")
		if err := h.restart(); err != nil {
			h.log.Logger.Warn(fmt.Sprintf("queue: %v: will try again", err))
		}
	}
}
