package live

import (
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// line is a proxy between page and program with a limited bit rate that can be cut.
type line struct {
	listener net.Listener
	to       string
	bits     float64 // a second towards the page; 0 has no limit

	mu    sync.Mutex
	conns []net.Conn
	down  bool
}

// between returns the address of a line to a program.
func between(t *testing.T, s *serving, bits float64) (*line, string) {
	t.Helper()
	u, err := url.Parse(s.url)
	e2e.Must(t, err)
	l := &line{to: u.Host, bits: bits}
	l.listener, err = net.Listen("tcp", "127.0.0.1:0")
	e2e.Must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { l.carry(c) })
		}
	})
	t.Cleanup(func() {
		l.listener.Close()
		l.cut(true)
		wg.Wait()
	})
	u.Host = l.listener.Addr().String()
	return l, u.String()
}

// cut breaks all connections, and lets new ones through or not.
func (l *line) cut(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

func (l *line) carry(page net.Conn) {
	defer page.Close()
	program, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer program.Close()
	l.mu.Lock()
	if l.down {
		l.mu.Unlock()
		return
	}
	l.conns = append(l.conns, page, program)
	l.mu.Unlock()
	if l.bits > 0 { // sent data waits on the line, not in the system
		_ = program.(*net.TCPConn).SetReadBuffer(16 << 10)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(program, page)
		program.Close()
	}()
	l.copy(page, program)
	page.Close()
	<-done
}

// copy is io.Copy at the line's speed.
func (l *line) copy(dst io.Writer, src io.Reader) {
	b := make([]byte, 4<<10)
	next := time.Now()
	for {
		n, err := src.Read(b)
		if n > 0 && l.bits > 0 {
			if now := time.Now(); next.Before(now) {
				next = now
			}
			next = next.Add(time.Duration(float64(8*n) / l.bits * float64(time.Second)))
			time.Sleep(time.Until(next))
		}
		if _, e := dst.Write(b[:n]); err != nil || e != nil {
			return
		}
	}
}

func TestConnectionIsCutAndReturns(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180")
	l, url := between(t, s, 0)
	p := look(t, url)
	p.until("vidfilter.drawn > 10")
	l.cut(true)
	p.until("!vidfilter.connected")
	p.until("/lost|again|connect/i.test(document.body.innerText)")
	if shown := onScreen(p)(0.25); shown == 0 {
		t.Error("the last picture is gone")
	}
	id := eval[int](p, "vidfilter.id")
	l.cut(false)
	p.until("vidfilter.connected && vidfilter.id > %d", id+10)
}

// A line of 2 Mbit/s lowers the bit rate and does not delay pictures.
func TestThinLine(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	s := serve(t, "-i", "test", "--size", "640x360")
	_, url := between(t, s, 2e6)
	p := look(t, url)
	p.until("vidfilter.drawn > 20")
	p.drawn(100)
	all := eval[[]float64](p, "vidfilter.arrivalToScreenLately")
	all = all[len(all)/2:]
	slices.Sort(all)
	stats := eval[struct{ Bitrate, Sent_bitrate, Sent_fps float64 }](p, "vidfilter.stats")
	t.Logf("2 Mbit/s: from arrival to screen %.0f ms (95 of 100 within %.0f), %.1f fps, %.2f Mbit/s sent", all[len(all)/2], all[len(all)*95/100],
		stats.Sent_fps, stats.Sent_bitrate/1e6)
	if median := all[len(all)/2]; median > 400 {
		t.Errorf("from arrival to screen takes %.0f ms", median)
	}
	if stats.Sent_bitrate > 2.2e6 {
		t.Errorf("%.2f Mbit/s on a line of 2", stats.Sent_bitrate/1e6)
	}
	if stats.Sent_fps < 5 {
		t.Errorf("%.1f pictures a second", stats.Sent_fps)
	}
}
