package fleet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// between draws a time.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// line is a connection to the server that can be cut. All TCP connections pass through it.
type line struct {
	l      net.Listener
	to     string
	mu     sync.Mutex
	change sync.Cond // of the numbers
	cuts   int       // that have not ended
	stalls int       // the same
	inside map[net.Conn]bool
}

func newLine(t *testing.T, to string) *line {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	e2e.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	n := &line{l: l, to: to, inside: map[net.Conn]bool{}}
	n.change.L = &n.mu
	go n.accept()
	return n
}

func (n *line) url() string { return "tls://" + n.l.Addr().String() }

func (n *line) accept() {
	for {
		c, err := n.l.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", n.to)
		if err != nil || !n.add(c, s) {
			_ = c.Close()
			continue
		}
		go n.pump(c, s)
		go n.pump(s, c)
	}
}

// add takes two ends of a connection, unless the line is cut.
func (n *line) add(ends ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range ends {
		if n.cuts > 0 {
			_ = c.Close()
		} else {
			n.inside[c] = true
		}
	}
	return n.cuts == 0
}

func (n *line) pump(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		k, err := from.Read(b)
		n.mu.Lock()
		for n.stalls > 0 {
			n.change.Wait()
		}
		n.mu.Unlock()
		if err == nil {
			_, err = to.Write(b[:k])
		}
		if err != nil {
			break
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		_ = c.Close()
		delete(n.inside, c)
	}
}

// cut ends all connections, and refuses others until the end is called.
func (n *line) cut() (end func()) {
	n.count(&n.cuts, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.inside {
		_ = c.Close()
	}
	return func() { n.count(&n.cuts, -1) }
}

// stall holds all bytes back until the end is called.
func (n *line) stall() (end func()) {
	n.count(&n.stalls, 1)
	return func() { n.count(&n.stalls, -1) }
}

func (n *line) count(to *int, by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*to += by
	n.change.Broadcast()
}

// fill leaves little room on a small disk until the end is called.
func fill(t *testing.T, dir string) (end func()) {
	ballast := filepath.Join(dir, ".ballast")
	f, err := os.Create(ballast)
	e2e.Must(t, err)
	defer f.Close()
	end = func() { e2e.Must(t, os.Remove(ballast)) }
	for {
		var st syscall.Statfs_t
		e2e.Must(t, syscall.Statfs(dir, &st))
		free := int64(st.Bavail) * st.Bsize
		switch err := syscall.Fallocate(int(f.Fd()), 0, 0, free-200<<10); {
		case err == nil, free <= 300<<10:
			return end
		case !errors.Is(err, syscall.ENOSPC): // else the victim was quicker
			t.Fatal(err)
		}
	}
}

// clock is the adjustable clock of a process.
type clock struct{ library, offset string } // "": this machine cannot have one

func newClock(t *testing.T) *clock {
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOARCH != "amd64" {
		return &clock{}
	}
	library := e2e.Make(t, "clock.so", func(path string) error {
		out, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", path, "testdata/clock.c").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("gcc: %w: %s", err, out)
		}
		return err
	})
	c := &clock{library, filepath.Join(t.TempDir(), "offset")}
	c.set(t, 0)
	return c
}

func (c *clock) env() []string {
	if c.library == "" {
		return nil
	}
	return []string{"LD_PRELOAD=" + c.library, "VIDFILTER_TEST_CLOCK=" + c.offset}
}

// set changes the offset in place: processes have the file in memory.
func (c *clock) set(t *testing.T, off time.Duration) {
	f, err := os.OpenFile(c.offset, os.O_CREATE|os.O_WRONLY, 0o644)
	e2e.Must(t, err)
	_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(off.Seconds()))), 0)
	e2e.Must(t, errors.Join(err, f.Close()))
}

// jumps of clocks.
var jumps = []time.Duration{-400 * 24 * time.Hour, -2 * time.Hour, -time.Minute, time.Minute, 2 * time.Hour, 400 * 24 * time.Hour}

// jump sets the clock off until the end is called.
func (c *clock) jump(t *testing.T, by time.Duration) (end func()) {
	if c.library == "" {
		return nil
	}
	c.set(t, by)
	return func() { c.set(t, 0) }
}
