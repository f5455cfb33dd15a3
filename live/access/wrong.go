package access

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"vidfilter/internal/wake"
)

// Wrong tokens are answered late, the later the more of them come from an address. A right one is
// never refused or delayed, so that nobody can lock out others, not even those who come through the
// same proxy: tokens are too long to be guessed at any speed that a server has.
const (
	free        = 3               // wrong tokens without a delay: people mistype
	step        = time.Second     // further delay for each after these
	longest     = 5 * time.Second // of a delay
	forgiven    = 10 * time.Minute
	mostKnown   = 256 // addresses
	mostWaiting = 32  // answers; those beyond come at once
	quiet       = 10 * time.Second
)

// wrongs remembers where wrong tokens come from.
type wrongs struct {
	tell func(string)

	mu      *sync.Mutex
	known   map[netip.Prefix]*wrong
	waiting int
	told    time.Time // when the last line was told
	untold  int       // since then
}

type wrong struct {
	count int
	last  time.Time
}

func newWrongs(tell func(string)) wrongs {
	if tell == nil {
		tell = func(string) {}
	}
	return wrongs{tell: tell, mu: new(sync.Mutex), known: map[netip.Prefix]*wrong{}}
}

// Wrong notes a wrong token from an address, and returns when the answer may go out. It is false
// if so many answers wait that this one should close the connection.
func (d *Door) Wrong(ctx context.Context, from netip.Addr) bool {
	w := &d.wrong
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
func (w *wrongs) queue(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.waiting >= mostWaiting {
		return false
	}
	w.waiting += n
	return true
}

// note counts a wrong token, and returns the delay of its answer and a line to tell, or "".
func (w *wrongs) note(from netip.Addr, now time.Time) (delay time.Duration, line string) {
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
func (w *wrongs) makeRoom(now time.Time) {
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

// network is what one person has: an address of IPv4, or 2^64 of IPv6.
func network(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.WithZone("").Prefix(bits)
	return p
}
