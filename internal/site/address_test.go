package site

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestBeyond(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:80": false, "127.8.8.8:0": false, "[::1]:80": false, "localhost:80": false,
		":80": true, "0.0.0.0:80": true, "[::]:80": true, "192.0.2.1:80": true, "head.example:80": true, "localhost.evil.example:80": true,
	} {
		if got := Beyond(listen); got != want {
			t.Errorf("%s: %v", listen, got)
		}
	}
}

func TestKnown(t *testing.T) {
	for _, c := range []struct {
		local, host string
		want        bool
	}{
		{"10.0.0.5", "10.0.0.5:8080", true}, {"::ffff:10.0.0.5", "10.0.0.5", true}, {"fd00::5", "[fd00::5]:8080", true},
		{"10.0.0.5", "head.example:8080", true}, {"10.0.0.5", "localhost", true},
		{"10.0.0.5", "10.0.0.6", false}, {"10.0.0.5", "evil.example", false}, {"10.0.0.5", "", false}, {"127.0.0.1", "evil.example", false},
	} {
		at := &net.TCPAddr{IP: net.ParseIP(c.local), Port: 8080}
		r := (&http.Request{Host: c.host}).WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, at))
		if got := Known(r, []string{"head.example"}); got != c.want {
			t.Errorf("%s at %s: %v", c.host, c.local, got)
		}
	}
}

// The URL of a page has an address that can be opened.
func TestURL(t *testing.T) {
	any := &net.TCPAddr{IP: net.IPv6unspecified, Port: 8930}
	if got := URL(any, nil, nil); strings.Contains(got, "::") || !strings.HasPrefix(got, "http://") || !strings.HasSuffix(got, ":8930/") {
		t.Error(got)
	}
	if got := URL(any, &tls.Config{}, []string{"head.example"}); got != "https://head.example:8930/" {
		t.Error(got)
	}
}
