package site

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// Beyond reports whether other machines can reach a listen address. A name other than localhost
// may mean any address.
func Beyond(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// Certificate reads a page's certificate and key from PEM files, and returns its names.
func Certificate(cert, key string) (*tls.Config, []string, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, nil, err
	}
	secure := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	return secure, certNames(pair.Leaf), nil
}

func certNames(c *x509.Certificate) (names []string) {
	if c == nil {
		return nil
	}
	for _, n := range c.DNSNames {
		if !strings.HasPrefix(n, "*") {
			names = append(names, n)
		}
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// URL returns the address of a page, by its first name if it has a certificate.
func URL(bound net.Addr, secure *tls.Config, names []string) string {
	scheme := "http"
	host, port, _ := net.SplitHostPort(bound.String())
	if secure != nil {
		scheme = "https"
		if len(names) > 0 {
			host = names[0]
		}
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// Known reports whether a request uses a name of the page: one that IsLocal accepts, or the very
// address it came in on.
func Known(r *http.Request, names []string) bool {
	if IsLocal(r.Host, names) {
		return true
	}
	asked, err := netip.ParseAddr(HostName(r.Host))
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && ok && local.AddrPort().Addr().Unmap() == asked.Unmap()
}
