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

	admission *Admission
	kicked    chan struct{}
	left      chan struct{}
	leave     sync.Once
}

// Enter lets a visitor in, if there is room. The caller calls Leave at the end.
func (a *Admission) Enter(v Visitor, transport string) (*Viewer, bool) {
	a.mu.Lock()
	if len(a.viewers) >= a.most {
		a.mu.Unlock()
		return nil, false
	}
	a.ids++
	g := &Viewer{Visitor: v, ID: a.ids, Since: time.Now(), Transport: transport, admission: a, kicked: make(chan struct{}), left: make(chan struct{})}
	a.viewers = append(a.viewers, g)
	changed := a.changed
	a.mu.Unlock()
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
		a := g.admission
		a.mu.Lock()
		a.viewers = slices.DeleteFunc(a.viewers, func(x *Viewer) bool { return x == g })
		changed := a.changed
		a.mu.Unlock()
		changed()
	})
}

// Viewers returns the viewers, oldest first.
func (a *Admission) Viewers() []*Viewer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.viewers)
}

// Kick removes a viewer and logs its browser out, unless that is by's own. It reports whether
// there was such a viewer.
func (a *Admission) Kick(id int64, by *Viewer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.viewers, func(g *Viewer) bool { return g.ID == id })
	if i < 0 {
		return false
	}
	g := a.viewers[i]
	if g.Cookie != "" && g.Cookie != by.Cookie {
		a.forget(g.Cookie)
	}
	select {
	case <-g.kicked:
	default:
		close(g.kicked)
	}
	return true
}

// Most returns how many viewers there may be.
func (a *Admission) Most() int { return a.most }
