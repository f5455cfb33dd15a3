package access

import (
	"net/netip"
	"testing"
)

const token = "a-token-of-the-test"

var local = netip.MustParseAddr("127.0.0.1")

func TestTokens(t *testing.T) {
	d := New(Options{Token: token, Once: "once"})
	view := ViewToken(token)
	if len(view) != 26 || view == token || ViewToken(token+"x") == view {
		t.Errorf("the token of those who look: %q", view)
	}
	for given, want := range map[string]Rights{token: Control, view: View, "": None, "once": None, ViewToken(view): None} {
		if got := d.Token(given); got != want {
			t.Errorf("%q gives %v", given, got)
		}
	}
	for _, c := range []struct {
		token  string
		opened bool
		want   Rights
	}{{"", false, None}, {"once", true, Control}, {"once", false, None}, {view, false, View}, {token, false, Control}} {
		value, opened, r := d.Login(c.token)
		if opened != c.opened || r != c.want || d.Cookie(value) != c.want {
			t.Errorf("%q: opened %v, %v, the cookie %v", c.token, opened, r, d.Cookie(value))
		}
	}
	if d.Cookie("") != None || d.Cookie(token) != None {
		t.Error("a cookie that nobody was given")
	}
	// Without a one-time token, the empty token gives no rights.
	if _, _, r := New(Options{Token: token}).Login(""); r != None {
		t.Error("the empty token is accepted")
	}
}

func TestOldestCookieGoes(t *testing.T) {
	d := New(Options{Token: token})
	first, _, _ := d.Login(token)
	second, _, _ := d.Login(token)
	for range mostCookies - 1 {
		d.Login(token)
	}
	if d.Cookie(first) != None || d.Cookie(second) != Control || len(d.cookies) != mostCookies {
		t.Errorf("%v and %v of %d", d.Cookie(first), d.Cookie(second), len(d.cookies))
	}
}

func TestGuests(t *testing.T) {
	d := New(Options{Token: token, MaxViewers: 2})
	changes := 0
	d.OnChange(func() { changes++ })
	cookie, _, _ := d.Login(token)
	other, _, _ := d.Login(ViewToken(token))
	a, ok := d.Enter(Visitor{local, Control, cookie}, "page")
	b, also := d.Enter(Visitor{local, View, other}, "page")
	if _, third := d.Enter(Visitor{local, Control, cookie}, "page"); !ok || !also || third || changes != 2 {
		t.Fatalf("%v, %v, %v after %d changes", ok, also, third, changes)
	}
	if d.Kick(99, a) || !d.Kick(b.ID, a) || !d.Kick(b.ID, a) {
		t.Error("kicked the wrong one")
	}
	select {
	case <-b.Kicked():
	default:
		t.Error("it may stay")
	}
	if d.Cookie(other) != None {
		t.Error("its browser is logged in still")
	}
	if !d.Kick(a.ID, a) || d.Cookie(cookie) != Control {
		t.Error("somebody has logged out by the kick")
	}
	b.Leave()
	b.Leave()
	if all := d.Viewers(); len(all) != 1 || all[0] != a || changes != 3 {
		t.Errorf("%v are left after %d changes", all, changes)
	}
}
