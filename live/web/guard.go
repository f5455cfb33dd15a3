package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"vidfilter/internal/site"
)

// policy allows content from this server and pictures made by the page, and nothing else. Some
// browsers do not count the socket as same-origin.
func (s *Server) policy(r *http.Request) string {
	socket := "ws://"
	if s.o.TLS {
		socket = "wss://"
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self' " +
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
		if !s.sameOrigin(r) && s.shared(r.URL.Path) {
			shareHeaders(w.Header())
			if preflight(w, r) {
				return
			}
		} else if !s.sameOrigin(r) {
			site.Refuse(w, http.StatusForbidden, "another site asks for this: open the page itself")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, s.largest(r.URL.Path))
		next.ServeHTTP(w, r)
	})
}

// largest is how long a body may be.
func (s *Server) largest(path string) int64 {
	if x, ok := s.extra(path); ok {
		return x.largest
	}
	return 4 << 10 // a token is the largest
}

// extra returns what Handle has added for a path.
func (s *Server) extra(path string) (x extra, ok bool) {
	for _, x := range s.more {
		if path == x.path || strings.HasSuffix(x.path, "/") && strings.HasPrefix(path, x.path) {
			return x, true
		}
	}
	return extra{}, false
}

// known lets requests with access through: our page by its cookie, programs and other sites' pages
// by the token.
func (s *Server) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.hasToken(r) && !(s.sameOrigin(r) && s.loggedIn(r)) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			site.Refuse(w, http.StatusUnauthorized, "send the token, which vidfilter live printed behind the # of its address, as Authorization: Bearer TOKEN")
			return
		}
		next.ServeHTTP(w, r)
	})
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

// keys are the tokens and cookies that give access.
type keys struct {
	token, once [sha256.Size]byte

	mu      sync.Mutex
	used    bool // once
	cookies [][sha256.Size]byte
}

// mostCookies limits the browsers that are logged in; beyond it the oldest has to log in again.
const mostCookies = 64

func newKeys(token, once string) *keys {
	return &keys{token: sha256.Sum256([]byte(token)), once: sha256.Sum256([]byte(once)), used: once == ""}
}

func same(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// isToken checks the token for programs, which may be used any number of times.
func (k *keys) isToken(given string) bool { return same(sha256.Sum256([]byte(given)), k.token) }

// login returns a cookie for a valid token. opened means that it is the token of the page opened
// by the program itself.
func (k *keys) login(token string) (cookie string, opened, ok bool) {
	given := sha256.Sum256([]byte(token))
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case same(given, k.token):
	case !k.used && same(given, k.once):
		k.used, opened = true, true
	default:
		return "", false, false
	}
	cookie = rand.Text()
	k.cookies = append(k.cookies, sha256.Sum256([]byte(cookie)))
	if n := len(k.cookies); n > mostCookies {
		k.cookies = k.cookies[n-mostCookies:]
	}
	return cookie, opened, true
}

func (k *keys) knows(cookie string) bool {
	given := sha256.Sum256([]byte(cookie))
	k.mu.Lock()
	defer k.mu.Unlock()
	found := 0
	for _, c := range k.cookies {
		found |= subtle.ConstantTimeCompare(given[:], c[:])
	}
	return found == 1
}

// cookieName contains the port, since browsers send cookies to all ports of a host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "default"
	}
	return "vidfilter-" + port
}

func (s *Server) loggedIn(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	return err == nil && s.keys.knows(c.Value)
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
	cookie, opened, ok := s.keys.login(token)
	if !ok {
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
