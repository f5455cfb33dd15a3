package access

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
	// Without a token for once, the empty one is none.
	if _, _, r := New(Options{Token: token}).Login(""); r != None {
		t.Error("the empty token opens the door")
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
	if all := d.Guests(); len(all) != 1 || all[0] != a || changes != 3 {
		t.Errorf("%v are left after %d changes", all, changes)
	}
}

func TestWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		d := New(Options{Token: token, Tell: func(s string) { told = append(told, s) }})
		begin := time.Now()
		for range 20 {
			if !d.Wrong(t.Context(), local) {
				t.Error("not answered")
			}
		}
		if took := time.Since(begin); took < 70*time.Second || took > 80*time.Second {
			t.Errorf("20 wrong tokens one after another took %v", took)
		}
		if len(told) < 5 || len(told) > 9 || !strings.Contains(told[0], "127.0.0.1") || !strings.Contains(told[1], "wrong tokens") {
			t.Errorf("told: %q", told)
		}
		begin = time.Now()
		if !d.Wrong(t.Context(), netip.MustParseAddr("192.0.2.1")) || time.Since(begin) > 0 {
			t.Error("another one's mistakes delay")
		}
		time.Sleep(forgiven + time.Second)
		begin = time.Now()
		if !d.Wrong(t.Context(), local) || time.Since(begin) > 0 {
			t.Error("never forgiven")
		}
	})
}

// However many come from wherever, few are remembered and few wait.
func TestWrongFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Options{Token: token})
		a := netip.MustParseAddr("2001:db8::")
		for i := range 3 * mostKnown {
			b := a.As16()
			b[6], b[7], b[15] = byte(i>>8), byte(i), byte(i)
			d.Wrong(t.Context(), netip.AddrFrom16(b))
			time.Sleep(time.Millisecond)
		}
		if n := len(d.wrong.known); n != mostKnown {
			t.Errorf("%d addresses are known", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range free {
			d.Wrong(ctx, local)
		}
		for range 3 * mostWaiting {
			go d.Wrong(ctx, local)
		}
		synctest.Wait()
		begin := time.Now()
		if d.Wrong(ctx, local) || time.Since(begin) > 0 {
			t.Error("more answers wait than may")
		}
		cancel()
		synctest.Wait()
		if d.wrong.waiting != 0 {
			t.Errorf("%d wait still", d.wrong.waiting)
		}
	})
}

func TestAddress(t *testing.T) {
	for given, want := range map[string]string{"127.0.0.1:80": "127.0.0.1", "[::ffff:10.0.0.1]:80": "10.0.0.1", "[fe80::1%eth0]:80": "fe80::1%eth0", "": "invalid IP"} {
		if got := Address(given).String(); got != want {
			t.Errorf("%q is %q", given, got)
		}
	}
	if network(netip.MustParseAddr("2001:db8::1")) != network(netip.MustParseAddr("2001:db8::ffff")) || network(local) == network(netip.MustParseAddr("127.0.0.2")) {
		t.Error("the networks of people")
	}
}
