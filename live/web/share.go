package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/preview"
)

// want is what viewers that share an encoder have in common.
type want struct {
	kind    string // of hello: avc, mp4 or jpeg
	view    preview.View
	smaller int // steps, for viewers that do not keep up
}

// studio encodes each picture once for all viewers that want the same and whose lines take about
// the same rate.
//
// A picture waits for the slowest of them, but not long: one without room then misses it, and gets
// a key frame next. Who misses often, or needs less than half of the bits that another takes, gets
// an encoder of its own for a while.
type studio struct {
	server *Server

	mu     sync.Mutex
	coders []*coder
}

const (
	alike      = 2                      // lines of up to this ratio of rates share an encoder
	unlike     = 3 * time.Second        // for which another ratio is borne
	mayMiss    = 3                      // key frames in a period for one viewer, which cost all others bits
	period     = 10 * time.Second       // for which misses count
	keyPause   = 300 * time.Millisecond // from one key frame to the next
	mostQueued = 32                     // pictures to be written; more than can be in flight
)

var (
	apart   = 30 * time.Second // how long a viewer that missed too often stays alone
	reunion = 5 * time.Second  // from one look for an encoder to share to the next
)

// coder encodes for its members.
type coder struct {
	studio *studio
	want   want
	frames *preview.Encoder
	watch  *live.Watcher
	credit chan struct{} // a member may have room, or there is another
	cancel context.CancelFunc

	members []*member // guarded by studio.mu
	config  *preview.Config
	lastKey time.Time
	before  int64 // the pair that was encoded last; all for the coder's goroutine
	looked  time.Time
}

// member is a viewer at its coder.
type member struct {
	*viewer
	since int64 // what the coder's watch had dropped before

	// for the coder's goroutine
	config *preview.Config // that it has
	lost   bool            // it needs a key frame
	misses []time.Time
	thin   time.Time // since when its line takes too little for the others; zero if it does not
}

// encoded is a picture for one viewer.
type encoded struct {
	kind    string
	config  *preview.Config // to be sent before, or nil
	packet  preview.Packet
	took    time.Duration
	pair    int64
	taken   time.Time
	stamp   float64
	at      time.Duration
	foreign bool
	again   bool // repeated
}

// move takes a viewer from its coder, if it has one, to another that is as the viewer wants: a new
// one if there is none. With from, a viewer that has left it stays where it is.
func (s *studio) move(v *viewer, from *coder) error {
	w := v.wants()
	rate, alone := v.needs()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := v.at.Load()
	if v.left || from != nil && at != from {
		return nil
	}
	s.part(v)
	if !alone {
		for _, c := range s.coders {
			if c != at && c.want == w && c.takes(rate) {
				c.add(v)
				return nil
			}
		}
	}
	o := preview.Options{
		Kind: previewKinds[w.kind], View: w.view, Stamp: true, BitRate: int64(rate), FrameRate: s.server.frameRate(), Threads: s.server.o.Threads,
	}
	p, err := preview.New(o)
	if err != nil {
		return err
	}
	p.SetSmaller(w.smaller)
	c := &coder{studio: s, want: w, frames: p, watch: s.server.session.Watch(1), credit: make(chan struct{}, 1), looked: time.Now()}
	ctx, cancel := context.WithCancel(s.server.ctx)
	c.cancel = cancel
	c.add(v)
	s.coders = append(s.coders, c)
	s.server.viewing.Go(func() { c.run(ctx) })
	return nil
}

// takes reports whether a viewer with this rate may join; studio.mu is held.
func (c *coder) takes(rate float64) bool {
	for _, m := range c.members {
		other, alone := m.needs()
		if alone || max(rate, other) > alike*min(rate, other) {
			return false
		}
	}
	return len(c.members) > 0
}

// add is called with studio.mu held.
func (c *coder) add(v *viewer) {
	c.members = append(c.members, &member{viewer: v, since: c.watch.Dropped(), lost: true})
	v.at.Store(c)
	wake.Up(c.credit)
	c.watch.Again() // a still picture is not encoded again otherwise
}

// leave takes a viewer away for good.
func (s *studio) leave(v *viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.left = true
	s.part(v)
}

// part takes a viewer from its coder, which ends with its last member; s.mu is held.
func (s *studio) part(v *viewer) {
	c := v.at.Swap(nil)
	if c == nil {
		return
	}
	c.members = slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool {
		if m.viewer == v {
			v.missed.Add(c.watch.Dropped() - m.since)
		}
		return m.viewer == v
	})
	if len(c.members) == 0 {
		c.cancel()
		s.coders = slices.DeleteFunc(s.coders, func(x *coder) bool { return x == c })
	}
	wake.Up(c.credit)
}

// dropped returns the pictures that a viewer has missed.
func (s *studio) dropped(v *viewer) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := v.missed.Load()
	if c := v.at.Load(); c != nil {
		for _, m := range c.members {
			if m.viewer == v {
				n += c.watch.Dropped() - m.since
			}
		}
	}
	return n
}

func (c *coder) list() []*member {
	c.studio.mu.Lock()
	defer c.studio.mu.Unlock()
	return slices.Clone(c.members)
}

// run encodes until the last member has left.
func (c *coder) run(ctx context.Context) {
	defer c.frames.Close()
	defer c.watch.Close()
	for ctx.Err() == nil {
		if c.waitForRoom(ctx) != nil {
			return
		}
		pair, err := c.watch.Next(ctx)
		if err != nil {
			return
		}
		err = c.picture(pair)
		pair.Release()
		if err != nil {
			for _, m := range c.list() {
				m.post(refusedMessage{"refused", "the picture cannot be shown: " + err.Error()})
			}
			if wake.Sleep(ctx, time.Second) != nil { // not for each of them
				return
			}
		}
		c.sort()
	}
}

// waitForRoom waits until all members have room for a picture, but once one has, no longer than a
// picture lasts.
func (c *coder) waitForRoom(ctx context.Context) error {
	var late <-chan time.Time
	for {
		some, all := false, true
		for _, m := range c.list() {
			room := m.room()
			some, all = some || room, all && room
		}
		if some && all {
			return nil
		}
		if some && late == nil {
			late = time.After(time.Duration(float64(time.Second) / c.studio.server.frameRate()))
		}
		select {
		case <-c.credit:
		case <-late:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// picture encodes a pair, and queues it for the members that have room.
func (c *coder) picture(pair *live.Pair) error {
	now := time.Now()
	members, rate, key := c.list(), 0., false
	var ready []*member
	for _, m := range members {
		bits, _ := m.needs()
		if rate == 0 || bits < rate {
			rate = bits
		}
		if !m.ready(now) {
			continue
		}
		ready = append(ready, m)
		m.lost = m.wantKey.Swap(false) || m.lost
		key = key || m.lost
	}
	if len(ready) == 0 {
		return nil
	}
	soon := len(members) > 1 && now.Sub(c.lastKey) < keyPause
	if key && soon {
		key = false
		time.AfterFunc(keyPause, c.watch.Again)
	}
	c.frames.SetBitRate(int64(rate))
	packet, err := c.frames.Encode(pair.Original, pair.Filtered, preview.Stamp{Time: pair.Stamp, Seq: uint16(pair.ID)}, key)
	if err != nil {
		return err
	}
	took := time.Since(now)
	if packet.Config != nil {
		c.config = packet.Config
	}
	if packet.Key {
		c.lastKey = now
	}
	packet.Data, packet.Config = slices.Clone(packet.Data), nil
	again := pair.Repeated || c.before == 0 || c.before == pair.ID
	c.before = pair.ID
	for _, m := range ready {
		if m.lost && !packet.Key {
			continue // it waits for the key frame
		}
		m.lost = false
		out := encoded{kind: c.want.kind, packet: packet, took: took, pair: pair.ID, taken: pair.Taken, stamp: pair.Stamp, at: pair.At, foreign: pair.Foreign, again: again}
		if m.config != c.config {
			m.config, out.config = c.config, c.config
			m.sized(c.config)
		}
		m.fly(out)
	}
	return nil
}

// ready reports whether a member has room; otherwise it misses a picture.
func (m *member) ready(now time.Time) bool {
	if m.room() {
		return true
	}
	m.missed.Add(1)
	if !m.lost {
		m.misses = append(m.misses, now)
	}
	m.lost = true
	return false
}

// sort moves members that do not fit to where they do.
func (c *coder) sort() {
	members := c.list()
	now := time.Now()
	for _, m := range members {
		moves := false
		switch m.misses = slices.DeleteFunc(m.misses, func(t time.Time) bool { return now.Sub(t) > period }); {
		case m.wants() != c.want:
			moves = true
		case len(members) > 1 && len(m.misses) > mayMiss:
			m.beAlone(now.Add(apart))
			moves = true
		case len(members) > 1:
			moves = m.isThin(c.most(members), now)
		case now.Sub(c.looked) > reunion:
			c.looked = now
			moves = c.studio.another(c)
		}
		if moves {
			if c.studio.move(m.viewer, c) != nil {
				_ = m.conn.CloseNow()
			}
			return
		}
	}
}

// isThin reports whether a member's line has long taken much less than the most of another's.
func (m *member) isThin(most float64, now time.Time) bool {
	switch bits, _ := m.needs(); {
	case bits*alike >= most:
		m.thin = time.Time{}
	case m.thin.IsZero():
		m.thin = now
	}
	return !m.thin.IsZero() && now.Sub(m.thin) > unlike
}

func (c *coder) most(members []*member) (most float64) {
	for _, m := range members {
		bits, _ := m.needs()
		most = max(most, bits)
	}
	return most
}

// another reports whether the only member of a coder could share another one.
func (s *studio) another(c *coder) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.members) != 1 {
		return false
	}
	rate, alone := c.members[0].needs()
	return !alone && slices.ContainsFunc(s.coders, func(x *coder) bool { return x != c && x.want == c.want && x.takes(rate) })
}
