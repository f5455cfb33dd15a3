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

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/durable"
)

// ServeOptions are the options of Serve.
type ServeOptions struct {
	Options
	Dir   string   // of the server's state; made if it does not exist
	Addr  string   // listen address; "" is DefaultAddr
	Hosts []string // further names and addresses of this machine, for the certificate
	Sites []string // whose tasks the role worker may take
	Quota Quota
	// Share is how many parts of a credential's jobs are given out for each one of others, as long
	// as both wait: 1 or more. Credentials that are not in it have 1.
	Share map[string]int
	// Keep is how long a job stays that has ended, or that nobody goes on with; 0 is for ever.
	Keep    time.Duration
	Version string // of the program

	// The functions may be nil, and are called from any goroutine.
	Audit func(Note) // is told who did what
	// Check returns what is wrong with the result of a task, and the name of its file in the
	// store, if it has one.
	Check func(t queue.Task, result []byte) (file string, err error)
	// ForWorkers returns what the workers of its parts need of a job, and Public what others may
	// see.
	ForWorkers, Public func(queue.Job) queue.Job

	// Cert and Key replace the certificate of the private authority, and are read again for each
	// connection. CA signed Cert; "" if the workers' systems trust it anyway.
	Cert, Key, CA string
}

// Server is a queue that other machines can reach.
type Server struct {
	e       *Engine
	host    *host
	handler *requestHandler
	addr    net.Addr
	dir     string
}

// DefaultAddr is the default listen address.
const DefaultAddr = "0.0.0.0:4222"

// Serve opens the queue kept in a folder to clients that have a file of credentials. Those of a
// worker and of a submitter are made at the first start. A file holds a token of the server's own
// operator and a certificate of its private authority; the server demands both.
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
	s := &Server{dir: o.Dir}
	for _, role := range []pki.Role{pki.Worker, pki.Submitter} {
		if err := keys.Keep(s.Creds(role), string(role), role); err != nil {
			return nil, err
		}
	}
	own, err := keys.ServerUser()
	if err != nil {
		return nil, err
	}
	so := &server.Options{Host: host, Port: port}
	if err := keys.Secure(so); err != nil {
		return nil, err
	}
	grants := names(o.Options.withDefaults().Prefix).grants()
	resolver := func() (server.AccountResolver, error) { return keys.Resolver(grants, o.Quota.Store) }
	secret, err := keys.Secret("tickets")
	if err != nil {
		return nil, err
	}
	e, h, err := start(filepath.Join(o.Dir, "queue"), o.Options, so, resolver, nats.UserCredentialBytes(own))
	if err != nil {
		return nil, listenError(o.Addr, err)
	}
	s.e, s.host, s.addr = e, h, h.ns.Load().Addr()
	handler := newRequestHandler(e, secret, o)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Workers may be storing files, and continue now.
	if err := errors.Join(e.dropOrphans(ctx, idleUpload), e.dropSpoiled(ctx)); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	s.handler = handler
	if err := handler.listen(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.onClose = append(e.onClose, handler.close)
	beside, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { h.heal(beside) })
	done.Go(func() { e.sweepLoop(beside) })
	e.onClose = append(e.onClose, func() error { stop(); done.Wait(); return nil })
	return s, nil
}

// Engine returns the queue for this process. It is closed with the server.
func (s *Server) Engine() *Engine { return s.e }

// Addr returns the bound address.
func (s *Server) Addr() net.Addr { return s.addr }

// Health returns an error while the queue cannot be written to, or has no room for it.
func (s *Server) Health() error {
	if !s.host.isLow() {
		switch {
		case s.handler.full.Load():
			return errors.New("the queue has stored all that it may: remove jobs (vidfilter jobs --remove), or start serve with a larger --max-store")
		case !s.host.isFull():
			return nil
		}
		return fmt.Errorf("a write in %s has failed: the server restarts", s.host.dir)
	}
	free, _, _ := durable.Space(s.host.dir)
	return fmt.Errorf("the disk of %s is full: %d bytes free, %d needed to continue", s.host.dir, free, healRoom)
}

// Creds returns the path of the credentials that were made for a role at the first start.
func (s *Server) Creds(role pki.Role) string { return filepath.Join(s.dir, string(role)+".creds") }

// Store returns the bytes that the queue has stored, and may store.
func (s *Server) Store() (used, limit int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	info, err := s.e.js.AccountInfo(ctx)
	if err != nil {
		return 0, 0, err
	}
	return int64(info.Store), info.Limits.MaxStore, nil
}

// Sizes returns the bytes that the files of jobs take in the store.
func (s *Server) Sizes() map[string]int64 { return s.handler.cache.bytes() }

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
