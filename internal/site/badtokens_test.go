package site

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var local = netip.MustParseAddr("127.0.0.1")

func TestWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := NewBadTokens(func(s string) { told = append(told, s) })
		begin := time.Now()
		for range 20 {
			if !w.Note(t.Context(), local) {
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
		if !w.Note(t.Context(), netip.MustParseAddr("192.0.2.1")) || time.Since(begin) > 0 {
			t.Error("another one's mistakes delay")
		}
		time.Sleep(forgiven + time.Second)
		begin = time.Now()
		if !w.Note(t.Context(), local) || time.Since(begin) > 0 {
			t.Error("never forgiven")
		}
	})
}

// However many come from wherever, few are remembered and few wait.
func TestWrongFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewBadTokens(nil)
		a := netip.MustParseAddr("2001:db8::")
		for i := range 3 * mostKnown {
			b := a.As16()
			b[6], b[7], b[15] = byte(i>>8), byte(i), byte(i)
			w.Note(t.Context(), netip.AddrFrom16(b))
			time.Sleep(time.Millisecond)
		}
		if n := len(w.known); n != mostKnown {
			t.Errorf("%d addresses are known", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range free {
			w.Note(ctx, local)
		}
		for range 3 * mostWaiting {
			go w.Note(ctx, local)
		}
		synctest.Wait()
		begin := time.Now()
		if w.Note(ctx, local) || time.Since(begin) > 0 {
			t.Error("more answers wait than may")
		}
		cancel()
		synctest.Wait()
		if w.waiting != 0 {
			t.Errorf("%d wait still", w.waiting)
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

func TestIsToken(t *testing.T) {
	for token, want := range map[string]bool{
		"": false, "t": false, "fifteen-letters": false, "sixteen-letters.": true, "sixteen letters.": false, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
	} {
		if IsToken(token) != want {
			t.Errorf("%q", token)
		}
	}
}
