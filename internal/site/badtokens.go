package site

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"sync"
	"time"

	"vidfilter/internal/wake"
)

// Wrong tokens are answered late, the later the more of them come from an address. A right one is
// never refused or delayed, so that users cannot lock out others, even behind the same proxy:
// tokens are too long to be guessed at any speed that a server has.
const (
	free        = 3               // wrong tokens without a delay: people mistype
	step        = time.Second     // further delay for each after these
	longest     = 5 * time.Second // of a delay
	forgiven    = 10 * time.Minute
	mostKnown   = 256 // addresses
	mostWaiting = 32  // answers; those beyond come at once
	quiet       = 10 * time.Second
)

// BadTokens remembers where wrong tokens come from.
type BadTokens struct {
	tell func(string)

	mu      sync.Mutex
	known   map[netip.Prefix]*wrong
	waiting int
	told    time.Time // when the last line was printed
	untold  int       // since then
}

type wrong struct {
	count int
	last  time.Time
}

// NewBadTokens returns one that reports wrong tokens to the person at the terminal, if tell is not
// nil.
func NewBadTokens(tell func(line string)) *BadTokens {
	if tell == nil {
		tell = func(string) {}
	}
	return &BadTokens{tell: tell, known: map[netip.Prefix]*wrong{}}
}

// Note notes a wrong token from an address, and returns when the answer may go out. It is false if
// too many answers wait and this one should close the connection.
func (w *BadTokens) Note(ctx context.Context, from netip.Addr) bool {
	delay, line := w.note(from, time.Now())
	if line != "" {
		w.tell(line)
	}
	if delay == 0 {
		return true
	}
	if !w.queue(1) {
		return false
	}
	defer w.queue(-1)
	return wake.Sleep(ctx, delay) == nil
}

// queue counts an answer that waits in or out.
func (w *BadTokens) queue(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.waiting >= mostWaiting {
		return false
	}
	w.waiting += n
	return true
}

// note counts a wrong token, and returns the delay of its answer and a line to print, or "".
func (w *BadTokens) note(from netip.Addr, now time.Time) (delay time.Duration, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := network(from)
	x := w.known[at]
	if x == nil {
		w.makeRoom(now)
		x = &wrong{}
		w.known[at] = x
	}
	if now.Sub(x.last) > forgiven {
		x.count = 0
	}
	x.count++
	x.last = now
	if x.count > free {
		delay = min(time.Duration(x.count-free)*step, longest)
	}
	w.untold++
	if now.Sub(w.told) >= quiet {
		line = fmt.Sprintf("a wrong token came from %v", from)
		if w.untold > 1 {
			line = fmt.Sprintf("%d wrong tokens came, the last from %v", w.untold, from)
		}
		w.told, w.untold = now, 0
	}
	return delay, line
}

// makeRoom forgets the address that has been quiet for longest if too many are known.
func (w *BadTokens) makeRoom(now time.Time) {
	if len(w.known) < mostKnown {
		return
	}
	var oldest netip.Prefix
	last := now
	for at, x := range w.known {
		if !x.last.After(last) {
			oldest, last = at, x.last
		}
	}
	delete(w.known, oldest)
}

// tokenForm is the form of a token of the user's own. Shorter ones can be guessed. Other characters
// do not belong in an address.
var tokenForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._~-]{16,128}$`) })

// TokenRule is the rule for tokens.
const TokenRule = "16 to 128 letters, digits and - . _ ~"

// IsToken reports whether a token follows TokenRule.
func IsToken(s string) bool { return tokenForm().MatchString(s) }

// Address returns the address in "HOST:PORT", for display and to distinguish people.
func Address(hostPort string) netip.Addr {
	a, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap()
}

// network is one person's addresses: an address of IPv4, or 2^64 of IPv6.
func network(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.WithZone("").Prefix(bits)
	return p
}
