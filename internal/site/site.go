// Package site is shared by the program's web pages: the server, security headers, and the check
// of the requested host name.
package site

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Harden sets the headers of every response. policy is the content security policy.
func Harden(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Refuse answers with a sentence of plain text.
func Refuse(w http.ResponseWriter, code int, sentence string) { http.Error(w, sentence, code) }

// HostName returns the name or address in a Host header in lower case, without port, brackets and
// trailing dot.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// IsLocal reports whether a Host header names this machine by a loopback address, as localhost,
// or by one of names. Without this check, DNS rebinding would let another site's page read ours.
func IsLocal(host string, names []string) bool {
	host = HostName(host)
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(HostName(n), host) })
}
