package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/wake"
)

// ConnectOptions are the options of Connect.
type ConnectOptions struct {
	Options
	// Most is how many jobs that are done or cancelled a watch begins with, the latest; 0 is all.
	Most int

	Name    string // shown in the server's lists
	Version string // of the program
	// with one of which the credentials of Serve will do; nil: any
	Roles []pki.Role

	Acting *Acting // nil: for itself

	protocol int // for tests; 0 is queue.Protocol

	// For clusters whose credentials hold no certificates: CA signed the server's certificate
	// ("": trusted by the system), and Cert and Key are the client's.
	CA, Cert, Key string
}

// Connect opens the queue of a server: one of Serve, with a file of its credentials, or any NATS
// server with JetStream, with a .creds file of an account there, or "" if it asks for none. url may
// list several servers of a cluster, separated by commas. With credentials of Serve, the engine
// asks its process for everything; otherwise it has the rights of the account.
func Connect(url, credsFile string, o ConnectOptions) (queue.Engine, error) {
	var c pki.Credentials
	if credsFile != "" {
		var err error
		if c, err = pki.ReadCredentials(credsFile); err != nil {
			return nil, &Error{err.Error(), err}
		}
	}
	if role := c.Role(); c.Served() && o.Roles != nil && !slices.Contains(o.Roles, role) {
		return nil, errorf(fmt.Sprintf("vidfilter serve credentials issue NAME --role %s, on the machine of the queue", o.Roles[0]), nil,
			"queue: %s is a credential of the role %s, and this needs one of the role %s", credsFile, role, o.Roles[0])
	}
	conf, err := c.TLS(pki.Files{Cert: o.Cert, Key: o.Key, CA: o.CA})
	if err != nil {
		return nil, err
	}
	o.Options = o.withDefaults()
	d := &dialer{net: net.Dialer{Timeout: 10 * time.Second}}
	options := append(connection(o.Options), c.Options()...)
	options = append(options, nats.Name(cmp.Or(o.Name, "vidfilter")), nats.SetCustomDialer(d), nats.Timeout(10*time.Second))
	if conf != nil {
		options = append(options, nats.Secure(conf))
	}
	out := new(reconnectGuard)
	if c.Served() {
		options = append(options, nats.CustomInboxPrefix(inbox(c.Name())), nats.ReconnectErrHandler(out.refused))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, connectError(url, credsFile, d.first(err))
	}
	if err := checkVersion(nc); err != nil {
		nc.Close()
		return nil, err
	}
	var e queue.Engine
	if c.Served() {
		e, err = newClient(nc, o, caller{role: c.Role(), name: c.Name()}, out)
	} else {
		e, err = open(nc, o.Options)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// dialer remembers why a connection failed; nats.go only says that it did.
type dialer struct {
	net net.Dialer

	mu  sync.Mutex
	err error
}

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	c, err := d.net.Dial(network, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && d.err == nil {
		d.err = err
	}
	return c, err
}

// first returns the first dial error, if err has no reason.
func (d *dialer) first(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, nats.ErrNoServers) && d.err != nil {
		return d.err
	}
	return err
}

// The oldest supported server.
const minMajor, minMinor = 2, 10

func checkVersion(nc *nats.Conn) error {
	var major, minor int
	v := nc.ConnectedServerVersion()
	if _, err := fmt.Sscanf(strings.TrimPrefix(v, "v"), "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("queue: server at %s: version %q", nc.ConnectedUrlRedacted(), v)
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return errorf(fmt.Sprintf("update it to %d.%d or later", minMajor, minMinor), nil,
			"queue: the server at %s is too old: version %s", nc.ConnectedUrlRedacted(), v)
	}
	return nil
}

// link is a connection to a server.
type link struct {
	o     Options
	names names
	nc    *nats.Conn

	drains []string // names under which its workers are told to drain

	closeOnce sync.Once
	onClose   []func() error // in reverse order
}

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

// publishEvent publishes an event. Events may be lost.
func (l *link) publishEvent(kind string, c claim, body []byte) {
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
