package rtc

import (
	"fmt"
	"io"
	"net"

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
