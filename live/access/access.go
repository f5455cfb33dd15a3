// Package access decides on the rights to look at a live session and to control it, counts the
// viewers, and removes them. Pages, players and cameras of every transport come through one Door.
package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"net/netip"
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

// Door is the one way to a session. It is safe for concurrent use.
type Door struct {
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

// New returns a door.
func New(o Options) *Door {
	return &Door{
		control: sum(o.Token), view: sum(ViewToken(o.Token)), once: sum(o.Once), used: o.Once == "",
		most: o.MaxViewers, wrong: site.NewBadTokens(o.Tell), changed: func() {},
	}
}

// OnChange sets the function to call when a viewer joins or leaves.
func (d *Door) OnChange(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed = f
}

func sum(s string) digest { return sha256.Sum256([]byte(s)) }

func same(a, b digest) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// Token returns the rights that a program's token gives. It may be used any number of times.
func (d *Door) Token(token string) Rights {
	given := sum(token)
	switch {
	case same(given, d.control):
		return Control
	case same(given, d.view):
		return View
	}
	return None
}

// Login returns a cookie for a token, with the same rights. opened means that it is the token of
// the page opened by the program itself.
func (d *Door) Login(token string) (value string, opened bool, r Rights) {
	r = d.Token(token)
	d.mu.Lock()
	defer d.mu.Unlock()
	if r == None && !d.used && same(sum(token), d.once) {
		d.used, opened, r = true, true, Control
	}
	if r == None {
		return "", false, None
	}
	value = rand.Text()
	d.cookies = append(d.cookies, cookie{sum(value), r})
	if n := len(d.cookies); n > mostCookies {
		d.cookies = d.cookies[n-mostCookies:]
	}
	return value, opened, r
}

// Cookie returns the rights of a cookie that Login gave.
func (d *Door) Cookie(value string) (r Rights) {
	given := sum(value)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.cookies {
		if same(given, c.digest) {
			r = c.rights
		}
	}
	return r
}

// forget logs a cookie's browser out; d.mu is held.
func (d *Door) forget(value string) {
	for i, c := range d.cookies {
		if same(sum(value), c.digest) {
			d.cookies = append(d.cookies[:i:i], d.cookies[i+1:]...)
			return
		}
	}
}

// Wrong notes a wrong token; see site.BadTokens.Note.
func (d *Door) Wrong(ctx context.Context, from netip.Addr) bool { return d.wrong.Note(ctx, from) }
