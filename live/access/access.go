// Package access decides on the rights to look at a live session and to control it, counts the
// viewers, and removes them. Pages, players and cameras of every transport come through one
// Admission.
package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"net/netip"
	"slices"
	"sync"

	"vidfilter/internal/site"
)

// Rights are the rights of a visitor. Each value includes the earlier ones.
type Rights uint8

// The values of Rights.
const (
	None    Rights = iota
	View           // look
	Control        // change settings, record, restart, be the camera, send others away
)

func (r Rights) String() string {
	return [...]string{"none", "view", "control"}[r]
}

// MarshalText returns the name.
func (r Rights) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// ViewToken derives the viewers' token from the token for control, so that one secret is enough. It
// does not lead back.
func ViewToken(token string) string {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("vidfilter live: look only"))
	const length = 26 // characters of 5 bits, as in rand.Text
	return base32.StdEncoding.EncodeToString(h.Sum(nil))[:length]
}

// Options of New.
type Options struct {
	Token string // gives control
	Once  string // replaces Token, once; or ""

	MaxViewers int

	Tell func(line string) // reports wrong tokens at the terminal, or nil
}

// Admission decides about all who come to a session. It is safe for concurrent use.
type Admission struct {
	control, view, once digest
	most                int
	wrong               *site.BadTokens

	mu      sync.Mutex
	used    bool // once
	cookies []cookie
	viewers []*Viewer // oldest first
	ids     int64
	changed func()
}

type digest = [sha256.Size]byte

type cookie struct {
	digest digest
	rights Rights
}

// Full is the message to a visitor whom Enter refuses.
const Full = "the session has its maximum of viewers"

// mostCookies limits the browsers that are logged in; beyond it the oldest has to log in again.
const mostCookies = 64

// New returns an Admission.
func New(o Options) *Admission {
	return &Admission{
		control: sum(o.Token), view: sum(ViewToken(o.Token)), once: sum(o.Once), used: o.Once == "",
		most: o.MaxViewers, wrong: site.NewBadTokens(o.Tell), changed: func() {},
	}
}

// OnChange sets the function to call when a viewer joins or leaves.
func (a *Admission) OnChange(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = f
}

func sum(s string) digest { return sha256.Sum256([]byte(s)) }

func same(a, b digest) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// Token returns the rights that a program's token gives. It may be used any number of times.
func (a *Admission) Token(token string) Rights {
	given := sum(token)
	switch {
	case same(given, a.control):
		return Control
	case same(given, a.view):
		return View
	}
	return None
}

// Login returns a cookie for a token, with the same rights. opened means that it is the token of
// the page opened by the program itself.
func (a *Admission) Login(token string) (value string, opened bool, r Rights) {
	r = a.Token(token)
	a.mu.Lock()
	defer a.mu.Unlock()
	if r == None && !a.used && same(sum(token), a.once) {
		a.used, opened, r = true, true, Control
	}
	if r == None {
		return "", false, None
	}
	value = rand.Text()
	a.cookies = append(a.cookies, cookie{sum(value), r})
	if n := len(a.cookies); n > mostCookies {
		a.cookies = a.cookies[n-mostCookies:]
	}
	return value, opened, r
}

// Cookie returns the rights of a cookie that Login gave.
func (a *Admission) Cookie(value string) (r Rights) {
	given := sum(value)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.cookies {
		if same(given, c.digest) {
			r = c.rights
		}
	}
	return r
}

// forget logs a cookie's browser out; a.mu is held.
func (a *Admission) forget(value string) {
	a.cookies = slices.DeleteFunc(a.cookies, func(c cookie) bool { return same(sum(value), c.digest) })
}

// Wrong notes a wrong token; see site.BadTokens.Note.
func (a *Admission) Wrong(ctx context.Context, from netip.Addr) bool { return a.wrong.Note(ctx, from) }
