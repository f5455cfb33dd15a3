package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
	"vidfilter/internal/wake"
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
	so.NoFastProducerStall = true // the server must not wait for a client that reads slowly
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
	return wrapf(err, "queue")
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

// logger passes on the server's errors and warnings, and drops the rest.
type logger struct {
	*slog.Logger
	isLow   func() bool // whether the disk is full
	failing func()      // see Options.Failing; may be nil

	last  atomic.Pointer[error]
	fatal atomic.Bool
	low   atomic.Bool // at an error isLow was true, or a stream takes no more
}

// complain logs an error. It keeps the error value among the arguments, if there is one.
func (l *logger) complain(format string, v ...any) {
	s := oneLine(fmt.Sprintf(format, v...))
	if l.isLow() {
		l.low.Store(true)
	}
	// The server stores nothing more in this stream, and does not announce what it had stored.
	if strings.Contains(strings.ToLower(s), "critical write error") {
		l.low.Store(true)
		if l.failing != nil {
			go l.failing() // the server holds locks
		}
	}
	l.last.Store(new(hint.Says(s, "", errorIn(v))))
	l.Warn("queue: server: " + s)
}

func errorIn(v []any) error {
	for _, x := range v {
		if err, ok := x.(error); ok {
			return err
		}
	}
	return nil
}

// why adds the last logged error to err.
func (l *logger) why(err error) error {
	if last := l.last.Load(); last != nil {
		return fmt.Errorf("%w: %w", err, *last)
	}
	return err
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Errorf(format string, v ...any) { l.complain(format, v...) }

// Fatalf is called where the NATS program would exit.
func (l *logger) Fatalf(format string, v ...any) {
	l.complain(format, v...)
	l.fatal.Store(true)
}

func (l *logger) Warnf(format string, v ...any) {
	// After a kill the index of a stream lags behind its messages, and is rebuilt. That is no
	// news.
	if strings.Contains(format, "will rebuild") || strings.Contains(format, "Recovering stream state from index") {
		return
	}
	l.complain(format, v...)
}
