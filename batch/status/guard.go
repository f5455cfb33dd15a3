package status

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"vidfilter/batch/queue"
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
		most := int64(1 << 10) // no request needs a body
		if r.URL.Path == submitPath {
			most = queue.MostRequest
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		next.ServeHTTP(w, r)
	})
}

// role is the rights of a request.
type role int

const (
	stranger role = iota
	viewer        // may read
	operator      // may read and change
)

// roleOf returns the role of a request's token, in constant time.
func (s *server) roleOf(r *http.Request) role {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given = strings.TrimSpace(given)
	switch acts, reads := same(given, s.o.Token), same(given, s.o.Viewer); {
	case !strings.EqualFold(scheme, "Bearer"):
		return stranger
	case acts:
		return operator
	case reads:
		return viewer
	}
	return stranger
}

func same(given, token string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && token != ""
}

// allowed reports whether a request may go on, and refuses it otherwise. Wrong tokens are answered
// late.
func (s *server) allowed(w http.ResponseWriter, r *http.Request, needs role, why string) bool {
	switch by := s.roleOf(r); {
	case by >= needs:
		return true
	case by == viewer:
		site.Refuse(w, http.StatusForbidden, "this token is for reading alone: give the token of --token")
		return false
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
		if !s.o.Private || s.allowed(w, r, viewer, "reading needs the token") {
			h(w, r)
		}
	}
}

// act guards a handler that changes something.
func (s *server) act(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.o.Token == "" {
			site.Refuse(w, http.StatusForbidden, "this page is read-only: it was started without a token")
		} else if s.allowed(w, r, operator, "this needs the token") {
			h(w, r)
		}
	}
}
