package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/durable"
)

// ServeOptions are the options of Serve.
type ServeOptions struct {
	Options
	Dir   string   // of the server's state; made if it does not exist
	Addr  string   // listen address; "" is DefaultAddr
	Hosts []string // further names and addresses of this machine, for the certificate

	// Cert and Key replace the certificate of the private authority, and are read again for each
	// connection. CA signed Cert; "" if the workers' systems trust it anyway.
	Cert, Key, CA string
}

// Server is a queue that other machines can reach.
type Server struct {
	e     *Engine
	host  *host
	addr  net.Addr
	creds string
}

// DefaultAddr is the default listen address.
const DefaultAddr = "0.0.0.0:4222"

// Serve opens the queue kept in a folder to workers that have the file Creds. That file, made at
// the first start, holds a token of the server's own operator and a certificate of its private
// authority; the server demands both.
func Serve(o ServeOptions) (*Server, error) {
	o.Addr = cmp.Or(o.Addr, DefaultAddr)
	host, port, err := splitAddr(o.Addr)
	if err != nil {
		return nil, err
	}
	// The lock also protects the keys.
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := o.serve(host, port)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	s.e.onClose = append([]func() error{unlock}, s.e.onClose...)
	return s, nil
}

func (o ServeOptions) serve(host string, port int) (*Server, error) {
	keys, err := pki.Open(filepath.Join(o.Dir, "keys"), pki.Files{Cert: o.Cert, Key: o.Key, CA: o.CA}, o.Hosts)
	if err != nil {
		return nil, &Error{err.Error(), err}
	}
	s := &Server{creds: filepath.Join(o.Dir, "worker.creds")}
	if err := keys.WriteCredentials(s.creds); err != nil {
		return nil, err
	}
	own, err := keys.ServerUser()
	if err != nil {
		return nil, err
	}
	so := &server.Options{Host: host, Port: port}
	if err := keys.Secure(so); err != nil {
		return nil, err
	}
	e, h, err := start(filepath.Join(o.Dir, "queue"), o.Options, so, nats.UserCredentialBytes(own))
	if err != nil {
		return nil, listenError(o.Addr, err)
	}
	s.e, s.host, s.addr = e, h, h.ns.Load().Addr()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Workers may be storing files, and continue now.
	if err := e.dropOrphans(ctx, time.Hour); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	healing, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { h.heal(healing) })
	e.onClose = append(e.onClose, func() error { stop(); done.Wait(); return nil })
	return s, nil
}

// Engine returns the queue for this process. It is closed with the server.
func (s *Server) Engine() *Engine { return s.e }

// Addr returns the bound address.
func (s *Server) Addr() net.Addr { return s.addr }

// Health returns an error while the queue cannot be written to.
func (s *Server) Health() error {
	if !s.host.isFull() {
		return nil
	}
	free, _, _ := durable.Space(s.host.dir)
	return fmt.Errorf("the disk of %s is full: %d bytes free, %d needed to continue", s.host.dir, free, healRoom)
}

// Creds returns the path of the credentials for workers. The file grants access to the queue.
func (s *Server) Creds() string { return s.creds }

// Close ends the server. Workers finish their tasks and wait for the next server.
func (s *Server) Close() error { return s.e.Close() }

func splitAddr(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, errorf("give it as HOST:PORT, such as "+DefaultAddr, err, "queue: invalid listen address %q", addr)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}
