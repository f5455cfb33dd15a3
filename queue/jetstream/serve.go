package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ServeOptions are those of Serve.
type ServeOptions struct {
	Options
	Dir   string   // of all that is to last; made if it is not there
	Addr  string   // to listen at; "" is 0.0.0.0:4222
	Hosts []string // names and addresses of this machine for the certificate, beside its own name, its addresses and localhost

	// Cert and Key are files with the server's own certificate, read again for each connection, instead of one from the private authority. CA
	// is the file with what signed it, for the workers; "" if their systems trust it anyway.
	Cert, Key, CA string
}

// Server is a queue that other machines can reach, and this process, too, by its engine.
type Server struct {
	e     *Engine
	addr  net.Addr
	creds string
}

// DefaultAddr is where a server listens.
const DefaultAddr = "0.0.0.0:4222"

// Serve opens the queue whose state lies in a folder, and lets workers in that have the file Creds, made there at the first start: a
// token of the server's own operator, and a certificate of its private authority, both of which it asks for.
func Serve(o ServeOptions) (*Server, error) {
	setDefault(&o.Addr, DefaultAddr)
	host, port, err := splitAddr(o.Addr)
	if err != nil {
		return nil, err
	}
	keys := filepath.Join(o.Dir, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	// The keys are this process's own from here on, too.
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := o.serve(host, port, keys)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	s.e.onClose = append([]func() error{unlock}, s.e.onClose...)
	return s, nil
}

func (o ServeOptions) serve(host string, port int, keys string) (*Server, error) {
	realm, err := newRealm(keys)
	if err != nil {
		return nil, err
	}
	conf, authority, roots, err := o.tls(keys)
	if err != nil {
		return nil, err
	}
	s := &Server{creds: filepath.Join(o.Dir, "worker.creds")}
	if err := realm.workerCreds(s.creds, authority, roots); err != nil {
		return nil, err
	}
	own, err := realm.newUser("server")
	if err != nil {
		return nil, err
	}
	so := &server.Options{
		Host: host, Port: port,
		TLSConfig: conf, TLSVerify: true, TLSTimeout: 10,
	}
	if err := realm.govern(so); err != nil {
		return nil, err
	}
	e, ns, err := start(filepath.Join(o.Dir, "queue"), o.Options, so, nats.UserCredentialBytes(own))
	if err != nil {
		return nil, listenError(o.Addr, err)
	}
	s.e, s.addr = e, ns.Addr()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Workers may be in the middle of storing a file, and go on with it now.
	if err := e.dropRests(ctx, time.Hour); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return s, nil
}

// Engine returns the queue for this process. It is closed with the server.
func (s *Server) Engine() *Engine { return s.e }

// Addr returns where the server listens.
func (s *Server) Addr() net.Addr { return s.addr }

// Creds returns the file that workers need, which opens the queue to whoever has it.
func (s *Server) Creds() string { return s.creds }

// Close ends the server. Workers go on with what they have, and come back to the next one.
func (s *Server) Close() error { return s.e.Close() }

func splitAddr(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, &Error{fmt.Sprintf("queue: address %q to listen at", addr), "give it as HOST:PORT, such as " + DefaultAddr, err}
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// govern makes a server trust the realm and nothing else.
func (r realm) govern(so *server.Options) error {
	accounts := &server.MemAccResolver{}
	if err := errors.Join(accounts.Store(r.account, r.token), accounts.Store(r.system, r.sysToken)); err != nil {
		return err
	}
	so.SystemAccount = r.system
	so.TrustedOperators = append(so.TrustedOperators, r.operator)
	so.AccountResolver = accounts
	return nil
}

// tls returns how the server proves who it is and asks its clients to, and what they must trust.
func (o ServeOptions) tls(keys string) (conf *tls.Config, authority pair, roots []*x509.Certificate, err error) {
	authority, err = keptPair(filepath.Join(keys, "authority.pem"), func(pair) bool { return true }, newAuthority)
	if err != nil {
		return nil, authority, nil, err
	}
	conf = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	conf.ClientCAs.AddCert(authority.cert)
	if o.Cert != "" || o.Key != "" || o.CA != "" {
		roots, err = o.ownCert(conf)
		return conf, authority, roots, err
	}
	hosts := ownHosts(o.Hosts)
	p, err := keptPair(filepath.Join(keys, "server.pem"),
		func(p pair) bool { return p.serves(authority, hosts) },
		func() (pair, error) { return newServerCert(authority, hosts) })
	if err != nil {
		return nil, authority, nil, err
	}
	conf.Certificates = []tls.Certificate{{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key}}
	return conf, authority, []*x509.Certificate{authority.cert}, nil
}

// ownCert lets a server use the certificate that its owner brought, and returns what workers must trust.
func (o ServeOptions) ownCert(conf *tls.Config) (roots []*x509.Certificate, err error) {
	if o.Cert == "" || o.Key == "" {
		return nil, &Error{"queue: a certificate of your own needs its key, and a key or authority its certificate",
			"give both files, or none", nil}
	}
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		return &c, err
	}
	if _, err := load(nil); err != nil {
		return nil, fmt.Errorf("queue: certificate %s with key %s: %w", o.Cert, o.Key, err)
	}
	conf.GetCertificate = load
	if o.CA == "" {
		return nil, nil
	}
	return readRoots(o.CA)
}

func readRoots(file string) ([]*x509.Certificate, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("queue: authority: %w", err)
	}
	roots, err := certificates(b)
	if err == nil && len(roots) == 0 {
		err = errors.New("no certificate in it")
	}
	if err != nil {
		return nil, fmt.Errorf("queue: authority %s: %w", file, err)
	}
	return roots, nil
}
