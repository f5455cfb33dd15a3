package site

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	maxConnections = 256
	farewell       = 3 * time.Second // for requests that are under way at the end
)

// Serve listens on addr, "HOST:PORT", and answers with h until ctx ends; then it lets requests that are under way end for a few
// seconds. It returns the address at once, and a function that waits for the end: its error is nil after a ctx that ended.
// With a configuration of TLS, it speaks nothing else. A request has ten seconds to come in, an answer half a minute to go out, a stream of events as long as it likes.
func Serve(ctx context.Context, addr string, h http.Handler, secure *tls.Config) (net.Addr, func() error, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog:    log.New(io.Discard, "", 0),                        // what strangers send does not belong on the terminal
		BaseContext: func(net.Listener) context.Context { return ctx }, // streams end with it
	}
	l = &limited{l, make(chan struct{}, maxConnections)}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	failed, ended := make(chan error, 1), make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	go func() {
		defer cancel()
		ended <- end(ctx, s, failed)
	}()
	return l.Addr(), sync.OnceValue(func() error { return <-ended }), nil
}

// end waits until ctx ends, and ends the server, or until the server cannot go on.
func end(ctx context.Context, s *http.Server, failed <-chan error) error {
	select {
	case err := <-failed:
		s.Close()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if s.Shutdown(patient) != nil {
		s.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// limited is a listener with at most so many connections at once: more are turned away.
type limited struct {
	net.Listener
	slots chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &counted{Conn: c, free: sync.OnceFunc(func() { <-l.slots })}, nil
		default:
			c.Close()
		}
	}
}

type counted struct {
	net.Conn
	free func()
}

func (c *counted) Close() error {
	defer c.free()
	return c.Conn.Close()
}
