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
	"slices"
	"sync"
	"time"
)

const (
	maxConnections  = 256
	maxProbes       = 16              // further connections, for probes alone
	shutdownTimeout = 3 * time.Second // for pending requests
	headerTimeout   = 5 * time.Second
)

// Serve answers requests to addr, "HOST:PORT", until ctx ends. Then pending requests have a few
// seconds to finish. It returns the bound address at once, and a function that waits for the end
// and returns nil if ctx ended. With a TLS configuration it speaks only TLS. A request must arrive
// within ten seconds, and an answer leave within half a minute; event streams have no limit. Where
// all connections are taken, /livez and /healthz are answered all the same. aside may be nil.
func Serve(ctx context.Context, addr string, h http.Handler, secure *tls.Config, aside Aside) (net.Addr, func() error, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &http.Server{
		Handler: probesOnly(h), ConnContext: withProbe, ReadHeaderTimeout: headerTimeout, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		// requests from outside do not belong on the terminal
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends streams
	}
	l = &limited{Listener: l, slots: make(chan struct{}, maxConnections), most: maxProbes}
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
func Limit(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, slots: make(chan struct{}, most)}
}

type limited struct {
	net.Listener
	slots chan struct{}

	most   int // further connections, for probes; another one takes the place of the earliest
	mu     sync.Mutex
	probes []*counted
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
		}
		if l.most > 0 {
			return l.probe(c), nil
		}
		c.Close()
	}
}

func (l *limited) probe(conn net.Conn) net.Conn {
	c := &counted{Conn: conn, probe: true}
	c.free = sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.probes = slices.DeleteFunc(l.probes, func(p *counted) bool { return p == c })
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.probes) >= l.most {
		_ = l.probes[0].Conn.Close()
		l.probes = slices.Delete(l.probes, 0, 1)
	}
	l.probes = append(l.probes, c)
	return c
}

type counted struct {
	net.Conn
	free  func()
	probe bool
}

func (c *counted) Close() error {
	defer c.free()
	return c.Conn.Close()
}

type probeKey struct{}

// withProbe marks the requests of connections that are for probes.
func withProbe(ctx context.Context, c net.Conn) context.Context {
	for {
		switch in := c.(type) {
		case *counted:
			return context.WithValue(ctx, probeKey{}, in.probe)
		case interface{ NetConn() net.Conn }:
			c = in.NetConn()
		default:
			return ctx
		}
	}
}

// probesOnly answers only probes on the connections that are for them.
func probesOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if probe, _ := r.Context().Value(probeKey{}).(bool); probe {
			w.Header().Set("Connection", "close")
			if r.URL.Path != "/livez" && r.URL.Path != "/healthz" {
				Refuse(w, http.StatusServiceUnavailable, "too many connections: try again later")
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}
