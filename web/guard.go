package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"vidfilter/internal/site"
)

// policy lets the page have what this server sends and nothing else: no script or style in the page itself, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard is in front of every request.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.Harden(w.Header(), policy)
		if !s.hostAllowed(r) {
			site.Refuse(w, http.StatusForbidden, "this address is only for localhost: ask for the page under that name, or allow the other one")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<10) // no request needs one
		next.ServeHTTP(w, r)
	})
}

// hostAllowed refuses foreign names on a loopback address: a page of another site may point its own name here, and would then read as if
// it were ours.
func (s *server) hostAllowed(r *http.Request) bool {
	return !site.OnLoopback(r) || site.IsLocal(r.Host, s.o.Hosts)
}

// knowsToken says whether a request carries the token. The time it takes says nothing of it.
func (s *server) knowsToken(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	a, b := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(s.o.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1 && s.o.Token != ""
}

// read serves what may be read.
func (s *server) read(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.o.Private && !s.knowsToken(r) {
			askToken(w, "reading needs the token")
			return
		}
		h(w, r)
	}
}

// act serves what changes something.
func (s *server) act(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.o.Token == "":
			site.Refuse(w, http.StatusForbidden, "this page is read-only: it was started without a token")
		case !s.knowsToken(r):
			askToken(w, "this needs the token")
		default:
			h(w, r)
		}
	}
}

func askToken(w http.ResponseWriter, why string) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="vidfilter"`)
	site.Refuse(w, http.StatusUnauthorized, why+": send it as Authorization: Bearer TOKEN")
}
