package site

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"vidfilter/internal/e2e"
)

// Probes are answered beside any number of idle connections. Other requests get status 503.
func TestProbes(t *testing.T) {
	of := httptest.NewUnstartedServer(nil)
	of.StartTLS()
	pair := of.TLS.Certificates
	of.Close()
	for name, secure := range map[string]*tls.Config{"plain": nil, "TLS": {Certificates: pair}} {
		ctx, cancel := context.WithCancel(t.Context())
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") })
		at, wait, err := Serve(ctx, "127.0.0.1:0", h, secure, func(byte, net.Conn) bool { return false })
		e2e.Must(t, err)
		var idle []net.Conn
		for range maxConnections + 2*maxProbes {
			c, err := net.Dial("tcp", at.String())
			e2e.Must(t, err)
			idle = append(idle, c)
		}
		scheme := map[bool]string{true: "http://", false: "https://"}[secure == nil]
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		for range 2 * maxProbes {
			for path, want := range map[string]int{"/livez": 200, "/healthz": 200, "/": 503} {
				resp, err := client.Get(scheme + at.String() + path)
				if err != nil {
					t.Fatalf("%s: %s: %v", name, path, err)
				}
				if resp.Body.Close(); resp.StatusCode != want {
					t.Errorf("%s: %s: %s", name, path, resp.Status)
				}
			}
		}
		for _, c := range idle {
			c.Close()
		}
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	}
}
