package rtc

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/logging"
)

// silence drops pion's log, which would print text from strangers to the terminal.
var silence = &logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled}

// buffer is the size of the kernel's socket buffer: a few key frames, since the decoder may be
// late.
const buffer = 2 << 20

// listen takes the UDP port of that number, or any.
func listen(page *net.TCPAddr) (ice.UDPMux, error) {
	mux, err := listenOn(page.IP, page.Zone, page.Port)
	if err != nil {
		mux, err = listenOn(page.IP, page.Zone, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("rtc: listen for WebRTC: %w", err)
	}
	return mux, nil
}

func listenOn(ip net.IP, zone string, port int) (ice.UDPMux, error) {
	log := silence.NewLogger("ice")
	if ip.IsUnspecified() { // a socket for each address, so that replies come from the right one
		networks := []ice.NetworkType{ice.NetworkTypeUDP4}
		if ip.To4() == nil {
			networks = append(networks, ice.NetworkTypeUDP6)
		}
		return ice.NewMultiUDPMuxFromPort(port, ice.UDPMuxFromPortWithNetworks(networks...), ice.UDPMuxFromPortWithLoopback(), ice.UDPMuxFromPortWithLogger(log),
			ice.UDPMuxFromPortWithReadBufferSize(buffer), ice.UDPMuxFromPortWithWriteBufferSize(buffer))
	}
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: port, Zone: zone})
	if err != nil {
		return nil, err
	}
	_ = c.SetReadBuffer(buffer) // the kernel has limits of its own
	_ = c.SetWriteBuffer(buffer)
	return ice.NewUDPMuxDefault(ice.UDPMuxParams{Logger: log, UDPConn: c}), nil
}

// tcpListener is the listener of ICE over TCP. Its connections come from the page's port.
type tcpListener struct {
	addr  net.Addr
	conns chan net.Conn
	ended chan struct{}
	end   func()
}

func newTCPListener() *tcpListener {
	const waiting = 16
	d := &tcpListener{conns: make(chan net.Conn, waiting), ended: make(chan struct{})}
	d.end = sync.OnceFunc(func() { close(d.ended) })
	return d
}

// take takes a connection that begins as ICE does: with the length of a packet, which is short.
func (d *tcpListener) take(first byte, c net.Conn) bool {
	if first > 1 {
		return false
	}
	select {
	case d.conns <- c:
	default: // too many, or before Listen
		_ = c.Close()
	}
	return true
}

func (d *tcpListener) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.ended:
		return nil, net.ErrClosed
	}
}

func (d *tcpListener) Addr() net.Addr { return d.addr }

func (d *tcpListener) Close() error {
	d.end()
	return nil
}

// listenTCP serves peers that no UDP reaches, as through a tunnel.
func listenTCP(d *tcpListener) ice.TCPMux {
	const (
		backlog = 512 << 10       // bytes to a slow peer, before packets are dropped
		unknown = 2 * time.Second // for a connection to name its session
	)
	return ice.NewTCPMuxDefault(ice.TCPMuxParams{
		Listener: d, Logger: silence.NewLogger("ice"), ReadBufferSize: 64, WriteBufferSize: backlog,
		FirstStunBindTimeout: unknown, AliveDurationForConnFromStun: unknown,
	})
}
