package status

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"vidfilter/internal/site"
)

// policy allows only files of this server: no inline script or style, no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard checks every request.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.Harden(w.Header(), policy)
		// DNS rebinding would let another site's page read this one
		if !site.Known(r, s.o.Hosts) {
			site.Refuse(w, http.StatusForbidden, "this page has another name: use that, or add this one with --status-host")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<10) // no request needs a body
		next.ServeHTTP(w, r)
	})
}

// knowsToken reports, in constant time, whether a request carries the token.
func (s *server) knowsToken(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	a, b := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(s.o.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1 && s.o.Token != ""
}

// allowed reports whether a request may go on, and refuses it otherwise. Wrong tokens are answered
// late.
func (s *server) allowed(w http.ResponseWriter, r *http.Request, why string) bool {
	switch {
	case s.knowsToken(r):
		return true
	case r.Header.Get("Authorization") != "" && !s.wrong.Note(r.Context(), site.Address(r.RemoteAddr)):
		w.Header().Set("Connection", "close")
		site.Refuse(w, http.StatusTooManyRequests, "too many wrong tokens have come")
		return false
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="vidfilter"`)
	site.Refuse(w, http.StatusUnauthorized, why+": send it as Authorization: Bearer TOKEN")
	return false
}

// read guards a handler that shows something.
func (s *server) read(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.o.Private || s.allowed(w, r, "reading needs the token") {
			h(w, r)
		}
	}
}

// act guards a handler that changes something.
func (s *server) act(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.o.Token == "" {
			site.Refuse(w, http.StatusForbidden, "this page is read-only: it was started without a token")
		} else if s.allowed(w, r, "this needs the token") {
			h(w, r)
		}
	}
}
