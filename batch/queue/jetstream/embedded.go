package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"vidfilter/internal/durable"
)

// maxPayload is the largest message; the server's default is 1 MiB.
const maxPayload = 8 << 20

// mostConsumers limits the consumers of a stream. A site has one for each class, while it is in
// use.
const mostConsumers = 1 << 16

// Embedded opens the queue kept in dir, which it makes if need be, with a server inside the
// process and no socket. Every write is synced before a call returns. A lock keeps other
// processes away.
func Embedded(dir string, o Options) (*Engine, error) {
	o.Silences = cmp.Or(o.Silences, embeddedSilences)
	e, _, err := start(dir, o, &server.Options{DontListen: true}, nil)
	if err != nil {
		return nil, err
	}
	e.alone = true
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// The lock was free, so earlier workers are dead. All tasks are free, since the consumers were
	// not on disk.
	if err := errors.Join(e.workers.stream.Purge(ctx), e.dropOrphans(ctx, 0), e.dropSpoiled(ctx)); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// start runs a server in the process with its state in dir, and connects to it without a socket.
func start(dir string, o Options, so *server.Options, accounts resolver, auth ...nats.Option) (e *Engine, h *host, err error) {
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
	own, err := newHost(dir, o, so, accounts)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = own.stop()
		}
	}()
	nc, err := nats.Connect("", append(connection(o), append(auth, nats.InProcessServer(own))...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("queue: own server in %s: %w", dir, err)
	}
	if e, err = open(nc, o); err != nil {
		return nil, nil, err
	}
	e.onClose = append([]func() error{unlock, own.stop}, e.onClose...)
	return e, own, nil
}

// run starts a server. Without SyncAlways, the store is synced every two minutes, and a power cut
// loses messages acknowledged in between.
func run(dir string, log *logger, so *server.Options) (*server.Server, error) {
	so.ServerName = "vidfilter"
	so.JetStream = true
	so.StoreDir = dir
	so.SyncAlways = true
	so.JetStreamMaxStore = 1 << 50 // limited by the disk alone
	so.JetStreamMaxMemory = 64 << 20
	so.JetStreamLimits.DefaultMaxConsumers = mostConsumers
	so.MaxPayload = maxPayload
	so.NoFastProducerStall = true // the head must not wait for a client that reads slowly
	so.NoSigs = true
	so.DisableJetStreamBanner = true
	if err := distrustIndexes(dir); err != nil {
		return nil, err
	}
	ns, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("queue: server in %s: %w", dir, err)
	}
	ns.SetLoggerV2(log, false, false, false)
	ns.Start()
	for range 200 {
		if ns.ReadyForConnections(100 * time.Millisecond) {
			return ns, nil
		}
		if log.fatal.Load() {
			break
		}
	}
	ns.Shutdown()
	return nil, log.why(fmt.Errorf("queue: server in %s does not start", dir))
}

// distrustIndexes makes the server read every record and task anew: by their indexes it would miss
// what the disk has spoiled, and a stream with a spoiled message takes no other. Files are too
// large for that, and have checksums of their own.
func distrustIndexes(dir string) error {
	// the folder's own name may have wildcards
	all, err := fs.Glob(os.DirFS(dir), "jetstream/*/streams/*/msgs/index.db")
	for _, name := range all {
		if !strings.Contains(name, "/OBJ_") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// connection returns the options of all connections: they reconnect for ever.
func connection(o Options) []nats.Option {
	return []nats.Option{
		nats.Name("vidfilter"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.ReconnectBufSize(-1), // callers retry by themselves
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !errors.Is(err, nats.ErrSlowConsumer) {
				o.Log.Warn("queue: " + oneLine(err.Error()))
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Log.Warn("queue: the connection is lost, running tasks continue: " + oneLine(err.Error()))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { o.Log.Warn("queue: the connection is back") }),
	}
}

// lock takes dir for this process; the lock ends with the process.
func lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	f, err := durable.Lock(filepath.Join(dir, "lock"), os.O_CREATE)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errorf("stop that process or wait for its end", err, "queue: %s is in use by another process", dir)
	case err != nil:
		return nil, fmt.Errorf("queue: %w", err)
	}
	return f.Close, nil
}
