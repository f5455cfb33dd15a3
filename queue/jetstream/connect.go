package jetstream

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// ConnectOptions are those of Connect.
type ConnectOptions struct {
	Options
	Name string // for the server's own lists

	// CA is a file with what the server's certificate is signed by, Cert and Key are the client's: for clusters, where the credentials
	// hold no certificates. Without CA the system's are trusted.
	CA, Cert, Key string
}

// Connect opens the queue of a server: one of Serve, with its worker.creds, or any NATS server with JetStream, with a .creds file of an
// account of its, or "" if it asks for none. url may name several servers of a cluster, with commas between.
func Connect(url, credsFile string, o ConnectOptions) (*Engine, error) {
	var c creds
	if credsFile != "" {
		var err error
		if c, err = readCreds(credsFile); err != nil {
			return nil, err
		}
	}
	conf, err := o.tls(c)
	if err != nil {
		return nil, err
	}
	o.Options = o.withDefaults()
	d := &dialer{net: net.Dialer{Timeout: 10 * time.Second}}
	options := append(connection(o.Options), c.options()...)
	options = append(options, nats.Name(cmp.Or(o.Name, "vidfilter")), nats.SetCustomDialer(d), nats.Timeout(10*time.Second))
	if conf != nil {
		options = append(options, nats.Secure(conf))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, connectError(url, credsFile, d.first(err))
	}
	if err := checkVersion(nc); err != nil {
		nc.Close()
		return nil, err
	}
	return open(nc, o.Options)
}

// tls returns what the credentials and files ask for, nil if that is nothing: then the url decides.
func (o ConnectOptions) tls(c creds) (*tls.Config, error) {
	roots := c.roots
	if o.CA != "" {
		more, err := readRoots(o.CA)
		if err != nil {
			return nil, err
		}
		roots = append(roots, more...)
	}
	if o.Cert != "" || o.Key != "" {
		own, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("queue: certificate %q with key %q: %w", o.Cert, o.Key, err)
		}
		c.client = &own
	}
	if len(roots) == 0 && c.client == nil {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(roots) > 0 {
		conf.RootCAs = x509.NewCertPool()
		for _, r := range roots {
			conf.RootCAs.AddCert(r)
		}
	}
	if c.client != nil {
		conf.Certificates = []tls.Certificate{*c.client}
	}
	return conf, nil
}

// dialer remembers why a connection was not made, of which nats.go says only that it was not.
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

// first returns the error of the first connection where err says only that there was none.
func (d *dialer) first(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, nats.ErrNoServers) && d.err != nil {
		return d.err
	}
	return err
}

// The oldest server that has all that is used here.
const minMajor, minMinor = 2, 10

func checkVersion(nc *nats.Conn) error {
	var major, minor int
	v := nc.ConnectedServerVersion()
	if _, err := fmt.Sscanf(strings.TrimPrefix(v, "v"), "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("queue: server at %s: version %q", nc.ConnectedUrlRedacted(), v)
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return &Error{fmt.Sprintf("queue: the server at %s has the version %s", nc.ConnectedUrlRedacted(), v),
			fmt.Sprintf("%d.%d is the least that will do: update it", minMajor, minMinor), nil}
	}
	return nil
}
