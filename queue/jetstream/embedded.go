package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// maxPayload is what a message may carry. The server's default is 1 MiB.
const maxPayload = 8 << 20

// Embedded opens the queue whose state lies in dir, which is made if it is not there, with a server inside the process and no
// socket. Everything is written through before a call returns. One process at a time has the queue; the lock goes with it.
func Embedded(dir string, o Options) (*Engine, error) {
	setDefault(&o.Deaths, embeddedDeaths)
	e, _, err := start(dir, o, &server.Options{DontListen: true})
	if err != nil {
		return nil, err
	}
	e.alone = true
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Whoever worked here is dead, or the lock would be taken: nothing is in anybody's hands.
	if err := errors.Join(e.nobodyWorks(ctx), e.dropRests(ctx, 0)); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// start runs a server in the process with its state in dir, and connects to it without a socket.
func start(dir string, o Options, so *server.Options, auth ...nats.Option) (e *Engine, ns *server.Server, err error) {
	o = o.withDefaults()
	unlock, err := lock(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = unlock()
		}
	}()
	ns, err = run(dir, o.Warn, so)
	if err != nil {
		return nil, nil, err
	}
	stop := func() error {
		ns.Shutdown()
		ns.WaitForShutdown()
		return nil
	}
	defer func() {
		if err != nil {
			_ = stop()
		}
	}()
	nc, err := nats.Connect("", append(connection(o), append(auth, nats.InProcessServer(ns))...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("queue: own server in %s: %w", dir, err)
	}
	if e, err = open(nc, o); err != nil {
		return nil, nil, err
	}
	e.onClose = append([]func() error{unlock, stop}, e.onClose...)
	return e, ns, nil
}

// run starts a server. SyncAlways: without it the store is written through every two minutes, and what was
// acknowledged in between is lost with the power.
func run(dir string, warn func(string), so *server.Options) (*server.Server, error) {
	so.ServerName = "vidfilter"
	so.JetStream = true
	so.StoreDir = dir
	so.SyncAlways = true
	so.JetStreamMaxStore = 1 << 50 // the disk is the limit
	so.JetStreamMaxMemory = 64 << 20
	so.MaxPayload = maxPayload
	so.NoSigs = true
	so.DisableJetStreamBanner = true
	ns, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("queue: server in %s: %w", dir, err)
	}
	log := &logger{warn: warn}
	ns.SetLoggerV2(log, false, false, false)
	ns.Start()
	for range 200 {
		if ns.ReadyForConnections(100 * time.Millisecond) {
			return ns, nil
		}
		if log.isFatal() {
			break
		}
	}
	ns.Shutdown()
	return nil, log.why(fmt.Errorf("queue: server in %s does not start", dir))
}

// connection is what all connections have in common: they come back whenever the server does.
func connection(o Options) []nats.Option {
	return []nats.Option{
		nats.Name("vidfilter"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.ReconnectBufSize(-1), // what waits is tried again by who waits for it
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !errors.Is(err, nats.ErrSlowConsumer) {
				o.Warn("queue: " + oneLine(err.Error()))
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Warn("queue: the connection is lost, what is at work goes on: " + oneLine(err.Error()))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { o.Warn("queue: the connection is back") }),
	}
}

// nobodyWorks forgets who worked. What they had in hand is forgotten with the consumers, which are not on disk.
func (e *Engine) nobodyWorks(ctx context.Context) error {
	s, err := e.js.Stream(ctx, "KV_"+e.names.workers())
	if err != nil {
		return err
	}
	return s.Purge(ctx)
}
