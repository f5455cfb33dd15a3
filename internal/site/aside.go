package site

import (
	"errors"
	"net"
	"time"
)

// Aside is for another protocol on the port of a page: it takes a connection by its first byte,
// which is still to be read, and then owns it. TLS begins with 22, HTTP with a letter.
type Aside func(first byte, c net.Conn) (taken bool)

// sorted is a listener without the connections that an Aside has taken.
type sorted struct {
	net.Listener
	conns chan net.Conn
	ended chan struct{} // closed with the listener
}

func sortOut(l net.Listener, aside Aside) *sorted {
	s := &sorted{l, make(chan net.Conn), make(chan struct{})}
	go s.run(aside)
	return s
}

// Accept returns the next connection that is the page's.
func (s *sorted) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

func (s *sorted) run(aside Aside) {
	defer close(s.ended)
	for {
		c, err := s.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files
			time.Sleep(50 * time.Millisecond)
			continue
		}
		go s.sort(c, aside)
	}
}

// sort waits for the first byte of a connection.
func (s *sorted) sort(c net.Conn, aside Aside) {
	first := make([]byte, 1)
	_ = c.SetReadDeadline(time.Now().Add(headerTimeout))
	if _, err := c.Read(first); err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	whole := &begun{c, first}
	if n, ok := c.(*counted); (!ok || !n.probe) && aside(first[0], whole) {
		return
	}
	select {
	case s.conns <- whole:
	case <-s.ended:
		_ = c.Close()
	}
}

// begun is a connection whose first byte has been read.
type begun struct {
	net.Conn
	first []byte
}

func (c *begun) NetConn() net.Conn { return c.Conn }

func (c *begun) Read(b []byte) (int, error) {
	if len(c.first) > 0 && len(b) > 0 {
		n := copy(b, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}
