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

// Viewer is a visitor of the session.
type Viewer struct {
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
func (d *Door) Enter(v Visitor, transport string) (*Viewer, bool) {
	d.mu.Lock()
	if len(d.viewers) >= d.most {
		d.mu.Unlock()
		return nil, false
	}
	d.ids++
	g := &Viewer{Visitor: v, ID: d.ids, Since: time.Now(), Transport: transport, door: d, kicked: make(chan struct{}), left: make(chan struct{})}
	d.viewers = append(d.viewers, g)
	changed := d.changed
	d.mu.Unlock()
	changed()
	return g, true
}

// Kicked is closed when the viewer must leave.
func (g *Viewer) Kicked() <-chan struct{} { return g.kicked }

// Left is closed by Leave.
func (g *Viewer) Left() <-chan struct{} { return g.left }

// Leave gives the place up. It may be called twice.
func (g *Viewer) Leave() {
	g.leave.Do(func() {
		close(g.left)
		d := g.door
		d.mu.Lock()
		d.viewers = slices.DeleteFunc(d.viewers, func(x *Viewer) bool { return x == g })
		changed := d.changed
		d.mu.Unlock()
		changed()
	})
}

// Viewers returns the viewers, oldest first.
func (d *Door) Viewers() []*Viewer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.viewers)
}

// Kick removes a viewer and logs its browser out, unless that is by's own. It reports whether
// there was such a viewer.
func (d *Door) Kick(id int64, by *Viewer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.viewers, func(g *Viewer) bool { return g.ID == id })
	if i < 0 {
		return false
	}
	g := d.viewers[i]
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

// Most returns how many viewers there may be.
func (d *Door) Most() int { return d.most }
