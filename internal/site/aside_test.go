package site

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// Two protocols share a port, and a page does not notice.
func TestAside(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	taken := make(chan net.Conn, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	})
	at, wait, err := Serve(ctx, "127.0.0.1:0", h, nil, func(first byte, c net.Conn) bool {
		if first != 0 {
			return false
		}
		taken <- c
		return true
	})
	e2e.Must(t, err)
	silent, err := net.Dial("tcp", at.String()) // is not in the way of others
	e2e.Must(t, err)
	defer silent.Close()
	c, err := net.Dial("tcp", at.String())
	e2e.Must(t, err)
	defer c.Close()
	_, _ = c.Write([]byte("\x00other"))
	other := <-taken
	all := make([]byte, 6)
	if _, err := io.ReadFull(other, all); err != nil || string(all) != "\x00other" {
		t.Errorf("%q, %v", all, err)
	}
	for range 2 {
		resp, err := http.Post("http://"+at.String(), "text/plain", io.LimitReader(zeros{}, 1<<16))
		e2e.Must(t, err)
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if len(b) != 1<<16 || err != nil {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	start := time.Now()
	if err := wait(); err != nil || time.Since(start) > shutdownTimeout {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if _, err := other.Write([]byte{1}); err != nil {
		t.Errorf("the other's connection ends with the page: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
