package coded

import (
	"context"
	"slices"
	"time"

	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/preview"
)

// coder encodes for its members.
type coder struct {
	pool   *EncoderPool
	want   EncoderKey
	watch  *live.Watcher
	credit chan struct{} // a member may have room, or there is another
	cancel context.CancelFunc

	members []*Subscriber // guarded by pool.mu

	// for the coder's goroutine
	frames  *preview.Encoder
	config  *preview.Config
	lastKey time.Time
	before  int64 // the pair that was encoded last
	looked  time.Time
}

// takes reports whether a member with this rate may join; pool.mu is held.
func (c *coder) takes(rate float64) bool {
	for _, m := range c.members {
		other := m.client.Rate()
		if m.isAlone() || max(rate, other) > alike*min(rate, other) {
			return false
		}
	}
	return len(c.members) > 0
}

// add is called with pool.mu held.
func (c *coder) add(m *Subscriber) {
	m.since, m.config, m.lost, m.misses, m.thin = c.watch.Dropped(), nil, true, nil, time.Time{}
	c.members = append(slices.Clone(c.members), m)
	m.at.Store(c)
	wake.Up(c.credit)
	c.watch.Again() // a still picture is not encoded again otherwise
}

func (c *coder) list() []*Subscriber {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.members
}

// run encodes until the last member has left, or the session has ended.
func (c *coder) run(ctx context.Context, rate float64) (err error) {
	w := c.want
	c.frames, err = preview.New(preview.Options{
		Kind: w.Kind, View: w.View, Stamp: w.Stamp, Display: w.Display, Baseline: w.Baseline, BitRate: int64(rate),
		FrameRate: c.pool.FrameRate(), Threads: c.pool.threads,
	})
	if err != nil {
		return err
	}
	defer c.frames.Close()
	c.frames.SetSmaller(w.Smaller)
	for c.waitForRoom(ctx) == nil {
		pair, err := c.watch.Next(ctx)
		if err != nil {
			break
		}
		c.sort()
		err = c.picture(pair)
		pair.Release()
		if err != nil {
			for _, m := range c.list() {
				m.client.Refuse(err)
			}
			if wake.Sleep(ctx, time.Second) != nil { // not for each of them
				break
			}
		}
	}
	return nil
}

// waitForRoom waits until all members have room for a picture, but once one has, no longer than a
// picture lasts.
func (c *coder) waitForRoom(ctx context.Context) error {
	var late <-chan time.Time
	for {
		some, all := false, true
		for _, m := range c.list() {
			room := m.client.Room()
			some, all = some || room, all && room
		}
		if some && all {
			return nil
		}
		if some && late == nil {
			late = time.After(time.Duration(float64(time.Second) / c.pool.FrameRate()))
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

// picture encodes a pair, and hands it to the members that have room.
func (c *coder) picture(pair *live.Pair) error {
	now := time.Now()
	ready, rate := c.ready(now)
	if len(ready) == 0 {
		return nil
	}
	c.frames.SetBitRate(int64(rate))
	original, filtered := pair.Original, pair.Filtered
	if c.want.Sides {
		original, filtered = pair.Sides()
	}
	packet, err := c.frames.Encode(original, filtered, preview.Stamp{Time: pair.Stamp, Seq: uint16(pair.ID)}, c.key(ready, now))
	if err != nil {
		return err
	}
	if packet.Config != nil {
		c.config = packet.Config
	}
	if packet.Key {
		c.lastKey = now
	}
	packet.Data, packet.Config = slices.Clone(packet.Data), nil
	again := pair.Repeated || c.before == 0 || c.before == pair.ID
	c.before = pair.ID
	out := Picture{
		Packet: packet, ID: pair.ID, At: pair.At, Taken: pair.Taken, Stamp: pair.Stamp, Foreign: pair.Foreign, Compared: c.want.Sides && pair.Side != "",
		Again: again, Took: time.Since(now),
	}
	for _, m := range ready {
		if !m.lost || packet.Key {
			m.take(out, c.config)
		} // else it waits for the key frame
	}
	return nil
}

// ready returns the members that have room, and the least rate of all. The others miss a picture.
func (c *coder) ready(now time.Time) (ready []*Subscriber, rate float64) {
	for _, m := range c.list() {
		if bits := m.client.Rate(); rate == 0 || bits < rate {
			rate = bits
		}
		if m.client.Room() {
			ready = append(ready, m)
			continue
		}
		m.missed.Add(1)
		m.behind.Store(true)
		if !m.lost {
			m.misses = append(m.misses, now)
		}
		m.lost = true
	}
	return ready, rate
}

// key reports whether the picture must be a key frame.
func (c *coder) key(ready []*Subscriber, now time.Time) bool {
	asked, due, since := false, false, now.Sub(c.lastKey)
	for _, m := range ready {
		m.lost = m.wantKey.Swap(false) || m.lost
		asked = asked || m.lost
		every := m.client.Interval()
		due = due || every > 0 && since > every
	}
	if asked && since < keyPause {
		time.AfterFunc(keyPause-since, c.watch.Again) // no other picture may come
		return false
	}
	return asked || due
}

// take hands a picture to the client.
func (m *Subscriber) take(p Picture, config *preview.Config) {
	if m.config != config {
		m.config, p.Config = config, config
	}
	m.lost = false
	m.client.Take(p)
}

// sort moves members that do not fit to where they do.
func (c *coder) sort() {
	members, now := c.list(), time.Now()
	for _, m := range members {
		moves := false
		switch m.misses = slices.DeleteFunc(m.misses, func(t time.Time) bool { return now.Sub(t) > period }); {
		case m.client.Want() != c.want:
			moves = true
		case len(members) > 1 && len(m.misses) > mayMiss:
			m.alone.Store(now.Add(apart).UnixNano())
			moves = true
		case len(members) > 1:
			moves = m.isThin(most(members), now)
		case now.Sub(c.looked) > rejoin:
			c.looked = now
			moves = c.pool.another(c)
		}
		if moves {
			c.pool.move(m, c)
			return
		}
	}
}

// isThin reports whether a member's line has long taken much less than the most of another's.
func (m *Subscriber) isThin(most float64, now time.Time) bool {
	switch {
	case m.client.Rate()*alike >= most:
		m.thin = time.Time{}
	case m.thin.IsZero():
		m.thin = now
	}
	return !m.thin.IsZero() && now.Sub(m.thin) > unlike
}

func most(members []*Subscriber) (most float64) {
	for _, m := range members {
		most = max(most, m.client.Rate())
	}
	return most
}
