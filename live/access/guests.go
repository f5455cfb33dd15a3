package access

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Visitor is somebody whose token or cookie has been checked.
type Visitor struct {
	Address netip.Addr
	Rights  Rights
	Cookie  string // the browser's, or ""
}

// Guest is a visitor who looks on.
type Guest struct {
	Visitor
	ID        int64
	Since     time.Time
	Transport string // for people: "page", "WHEP", "RTSP"

	door   *Door
	kicked chan struct{}
	left   chan struct{}
	leave  sync.Once
}

// Enter lets a visitor in, if there is room. The caller calls Leave at the end.
func (d *Door) Enter(v Visitor, transport string) (*Guest, bool) {
	d.mu.Lock()
	if len(d.guests) >= d.most {
		d.mu.Unlock()
		return nil, false
	}
	d.ids++
	g := &Guest{Visitor: v, ID: d.ids, Since: time.Now(), Transport: transport, door: d, kicked: make(chan struct{}), left: make(chan struct{})}
	d.guests = append(d.guests, g)
	changed := d.changed
	d.mu.Unlock()
	changed()
	return g, true
}

// Kicked is closed when the guest has to go.
func (g *Guest) Kicked() <-chan struct{} { return g.kicked }

// Left is closed by Leave.
func (g *Guest) Left() <-chan struct{} { return g.left }

// Leave gives the place up. It may be called twice.
func (g *Guest) Leave() {
	g.leave.Do(func() {
		close(g.left)
		d := g.door
		d.mu.Lock()
		d.guests = slices.DeleteFunc(d.guests, func(x *Guest) bool { return x == g })
		changed := d.changed
		d.mu.Unlock()
		changed()
	})
}

// Guests returns those who look on, in the order of their coming.
func (d *Door) Guests() []*Guest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.guests)
}

// Kick sends a guest away and logs its browser out, unless that is by's own. It reports whether
// there was such a guest.
func (d *Door) Kick(id int64, by *Guest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.guests, func(g *Guest) bool { return g.ID == id })
	if i < 0 {
		return false
	}
	g := d.guests[i]
	if g.Cookie != "" && g.Cookie != by.Cookie {
		d.forget(g.Cookie)
	}
	select {
	case <-g.kicked:
	default:
		close(g.kicked)
	}
	return true
}

// Most returns how many guests there may be.
func (d *Door) Most() int { return d.most }
