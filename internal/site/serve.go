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
	maxConnections  = 256
	shutdownTimeout = 3 * time.Second // for pending requests
	headerTimeout   = 5 * time.Second
)

// Serve answers requests to addr, "HOST:PORT", until ctx ends; then pending requests have a few
// seconds to finish. It returns the bound address at once, and a function that waits for the end
// and returns nil if ctx ended. With a TLS configuration it speaks nothing else. A request must
// arrive within ten seconds, and an answer leave within half a minute; event streams have no
// limit. aside may be nil.
func Serve(ctx context.Context, addr string, h http.Handler, secure *tls.Config, aside Aside) (net.Addr, func() error, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		// requests from outside do not belong on the terminal
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends streams
	}
	l = Limit(l, maxConnections)
	if aside != nil {
		l = sortOut(l, aside)
	}
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

// end shuts the server down when ctx ends or the server fails.
func end(ctx context.Context, s *http.Server, failed <-chan error) error {
	select {
	case err := <-failed:
		s.Close()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if s.Shutdown(patient) != nil {
		s.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Limit returns a listener with a limit on connections: further ones are closed.
func Limit(l net.Listener, most int) net.Listener { return &limited{l, make(chan struct{}, most)} }

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
