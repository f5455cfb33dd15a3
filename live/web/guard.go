package web

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"vidfilter/internal/site"
	"vidfilter/live/access"
)

// policy allows only content from this server and pictures made by the page. Some browsers do not
// count the socket as same-origin.
func (s *Server) policy(r *http.Request) string {
	socket := "ws://"
	if s.o.TLS {
		socket = "wss://"
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self' " +
		socket + r.Host + "; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// guard is in front of every request.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.hostAllowed(r.Host) {
			site.Harden(w.Header(), "default-src 'none'")
			site.Refuse(w, http.StatusForbidden, "this page does not go by that name: ask for it as localhost, or start it with --allow-host "+shown(r.Host))
			return
		}
		site.Harden(w.Header(), s.policy(r))
		w.Header().Set("Referrer-Policy", "same-origin") // with none, forms lack their origin
		if !s.sameOrigin(r) {
			// Pages of other sites may use the paths added by Handle if their requests hold the
			// token. A cookie, which the browser would add by itself, gives them nothing, so any
			// site may try.
			if _, shared := s.extra(r.URL.Path); !shared {
				site.Refuse(w, http.StatusForbidden, "another site asks for this: open the page itself")
				return
			}
			shareHeaders(w.Header())
			if preflight(w, r) {
				return
			}
		}
		r.Body = http.MaxBytesReader(w, r.Body, s.largest(r.URL.Path))
		next.ServeHTTP(w, r)
	})
}

// largest is the maximum length of a body.
func (s *Server) largest(path string) int64 {
	if x, ok := s.extra(path); ok {
		return x.largest
	}
	if path == "/job" {
		return maxJobFile
	}
	return 4 << 10 // a token is the largest
}

// extra returns the handler that Handle added for a path.
func (s *Server) extra(path string) (x foreignPath, ok bool) {
	for _, x := range s.more {
		if path == x.path || strings.HasSuffix(x.path, "/") && strings.HasPrefix(path, x.path) {
			return x, true
		}
	}
	return foreignPath{}, false
}

// who returns the visitor of a request: our page by its cookie, a program or another site's page by
// the token as Authorization: Bearer or, where the path allows it, as ?token=.
func (s *Server) who(r *http.Request, inQuery bool) (v access.Visitor, wrong bool) {
	v.Address = site.Address(r.RemoteAddr)
	if c, err := r.Cookie(cookieName(r)); err == nil && s.sameOrigin(r) {
		if v.Rights = s.o.Admission.Cookie(c.Value); v.Rights > access.None {
			v.Cookie = c.Value
			return v, false
		}
	}
	scheme, token, given := strings.Cut(r.Header.Get("Authorization"), " ")
	given = given && strings.EqualFold(scheme, "Bearer")
	if !given && inQuery && r.URL.Query().Has("token") {
		token, given = r.URL.Query().Get("token"), true
	}
	if !given {
		return v, false
	}
	v.Rights = s.o.Admission.Token(strings.TrimSpace(token))
	return v, v.Rights == access.None
}

// known passes requests with these rights on; VisitorOf returns the visitor from their contexts.
func (s *Server) known(needed access.Rights, inQuery bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, wrong := s.who(r, inQuery)
		switch {
		case wrong && !s.o.Admission.Wrong(r.Context(), v.Address):
			w.Header().Set("Connection", "close")
			site.Refuse(w, http.StatusTooManyRequests, "too many wrong tokens")
		case v.Rights == access.None:
			w.Header().Set("WWW-Authenticate", "Bearer")
			hint := "as Authorization: Bearer TOKEN"
			if inQuery {
				hint += ", or as ?token=TOKEN"
			}
			site.Refuse(w, http.StatusUnauthorized, "send the token, which vidfilter live printed behind the # of its address, "+hint)
		case v.Rights < needed:
			site.Refuse(w, http.StatusForbidden, "this token is for those who look on only")
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
		}
	})
}

type visitorKey struct{}

// VisitorOf returns the visitor of a request to a handler given to Handle.
func VisitorOf(ctx context.Context) access.Visitor {
	v, _ := ctx.Value(visitorKey{}).(access.Visitor)
	return v
}

// shown removes characters that do not belong in a name, which is untrusted.
func shown(host string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]_", c) {
			return c
		}
		return -1
	}, host)
}

func (s *Server) hostAllowed(host string) bool {
	return shown(host) == host && host != "" && site.IsLocal(host, s.o.Hosts)
}

// sameOrigin refuses requests from pages of other sites. Clients other than browsers send neither
// header.
func (s *Server) sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		scheme := "http"
		if s.o.TLS {
			scheme = "https"
		}
		u, err := url.Parse(origin)
		return err == nil && u.Scheme == scheme && strings.EqualFold(u.Host, r.Host)
	}
	from := r.Header.Get("Sec-Fetch-Site")
	// a link to the page
	top := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.URL.Path == "/"
	return from == "" || from == "same-origin" || from == "none" || top
}

// cookieName contains the port, since browsers send cookies to all ports of a host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "default"
	}
	return "vidfilter-" + port
}

// login takes the token from the page's script, or from its form if there is no script.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := kind == "application/x-www-form-urlencoded"
	token := ""
	if form {
		token = strings.TrimSpace(r.PostFormValue("token"))
	} else {
		var body struct {
			Token string `json:"token"`
		}
		b, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(b, &body) != nil {
			site.Refuse(w, http.StatusBadRequest, `send {"token":"..."}`)
			return
		}
		token = body.Token
	}
	// People copy the part after the # of the address.
	token = token[strings.LastIndexByte(token, '#')+1:]
	cookie, opened, rights := s.o.Admission.Login(token)
	if rights == access.None {
		if token != "" && !s.o.Admission.Wrong(r.Context(), site.Address(r.RemoteAddr)) {
			w.Header().Set("Connection", "close")
			site.Refuse(w, http.StatusTooManyRequests, "too many wrong tokens")
			return
		}
		site.Refuse(w, http.StatusUnauthorized, "that is not the token: open the address that vidfilter live printed")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: cookie, Path: "/", HttpOnly: true, Secure: s.o.TLS, SameSite: http.SameSiteStrictMode,
	})
	switch {
	case form:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case opened:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"opened":true}`)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// shareHeaders lets another site's page read the answer.
func shareHeaders(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Location, Link, Retry-After")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// preflight answers the question that a browser asks before such a request. It holds no token.
func preflight(w http.ResponseWriter, r *http.Request) (answered bool) {
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "DELETE, GET, OPTIONS, PATCH, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
