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

// read guards a handler that shows something.
func (s *server) read(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.o.Private && !s.knowsToken(r) {
			askToken(w, "reading needs the token")
			return
		}
		h(w, r)
	}
}

// act guards a handler that changes something.
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
