// Package coded encodes each picture of a session once for all viewers that want the same: pages,
// players and other programs.
package coded

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/preview"
	"vidfilter/pipeline"
)

// EncoderKey selects an encoder: viewers with equal keys may share one.
type EncoderKey struct {
	Kind     preview.Coding
	View     preview.View
	Sides    bool // the original and filtered pictures are Pair.Sides
	Stamp    bool
	Baseline bool // see preview.Options
	Smaller  int  // steps, for viewers that do not keep up

	// Display is the session's for viewers that do not turn and stretch pictures themselves.
	Display pipeline.Display
}

// Client is a viewer. Its methods may be called from any goroutine, and return at once.
type Client interface {
	// Want returns the wanted pictures.
	Want() EncoderKey
	// Rate returns the bits a second that its line takes.
	Rate() float64
	// Interval returns the longest time from one key frame to the next, 0 for any.
	Interval() time.Duration
	// Room reports whether another picture may come.
	Room() bool
	// Take takes a picture.
	Take(p Picture)
	// Refuse reports that a picture cannot be encoded.
	Refuse(err error)
	// End reports the end of the session.
	End()
}

// Picture is an encoded picture, which is shared and read-only.
type Picture struct {
	preview.Packet // its Config is the picture's, if the client does not have it yet

	ID       int64         // of the pair
	At       time.Duration // on the clock of the sound
	Taken    time.Time
	Stamp    float64
	Foreign  bool
	Compared bool // the sides have two settings
	Again    bool // it was shown before
	Took     time.Duration
}

// EncoderPool owns the encoders of a session.
//
// A picture waits a short time for the slowest viewer of its encoder. A viewer without room misses
// it and gets a keyframe next. A viewer that misses often, or needs less than half of another's
// bits, gets an encoder of its own for a while.
type EncoderPool struct {
	session *live.Session
	threads int
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	coders []*coder
}

const (
	alike    = 2                      // lines of up to this ratio of rates share an encoder
	unlike   = 3 * time.Second        // for which another ratio is borne
	mayMiss  = 3                      // key frames in a period for one viewer, which cost all others bits
	period   = 10 * time.Second       // for which misses count
	keyPause = 300 * time.Millisecond // from one key frame to the next
)

var (
	apart  = 30 * time.Second // how long a viewer that missed too often stays alone
	rejoin = 5 * time.Second  // from one look for an encoder to share to the next
)

// New returns a pool whose encoders have threads threads each; 0 lets the program choose. The
// caller closes it before the session.
func New(s *live.Session, threads int) *EncoderPool {
	ctx, cancel := context.WithCancel(context.Background())
	return &EncoderPool{session: s, threads: threads, ctx: ctx, cancel: cancel}
}

// Close ends all encoders.
func (s *EncoderPool) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.running.Wait()
}

// FrameRate is the rate of pictures by which bits are distributed.
func (s *EncoderPool) FrameRate() float64 {
	st, _ := s.session.State()
	if st.FrameRate > 0 {
		return min(st.FrameRate, 1000)
	}
	return 30
}

// Display is how pictures are meant to be shown now.
func (s *EncoderPool) Display() pipeline.Display {
	st, _ := s.session.State()
	if st.Aspect == 1 {
		st.Aspect = 0 // which counts as 1
	}
	return st.Display
}

// Ample returns preview.Ample for the filtered picture.
func (s *EncoderPool) Ample() float64 {
	st, _ := s.session.State()
	w, h := st.Display.Size(st.Shown.Width, st.Shown.Height)
	if st.Shown.Width == 0 {
		w, h = st.Display.Size(st.Width, st.Height)
	}
	return preview.Ample(w*h, s.FrameRate())
}

// Subscriber connects a client with an encoder. It is safe for concurrent use.
type Subscriber struct {
	client Client
	pool   *EncoderPool

	at      atomic.Pointer[coder] // changed with pool.mu held
	left    bool                  // guarded by pool.mu
	wantKey atomic.Bool
	behind  atomic.Bool  // it has missed the latest picture
	missed  atomic.Int64 // pictures, for want of room; the coder's watcher drops others
	alone   atomic.Int64 // until this time, in Unix nanoseconds, it shares no coder

	since int64 // what the coder's watch had dropped before it came; guarded by pool.mu

	// for the coder's goroutine
	config *preview.Config // that it has
	lost   bool            // it needs a key frame
	misses []time.Time
	thin   time.Time // since when its line takes too little for the others; zero if it does not
}

// Join finds an encoder for a client, which gets a key frame first. The caller ends it by Leave.
func (s *EncoderPool) Join(c Client) *Subscriber {
	m := &Subscriber{client: c, pool: s}
	s.move(m, nil)
	return m
}

// Changed reports that the client wants other pictures.
func (m *Subscriber) Changed() { m.pool.move(m, nil) }

// Key asks for a key frame.
func (m *Subscriber) Key() {
	m.wantKey.Store(true)
	m.again()
}

// again has a still picture encoded again.
func (m *Subscriber) again() {
	if c := m.at.Load(); c != nil {
		c.watch.Again()
	}
}

// Ready reports that the client may have room again.
func (m *Subscriber) Ready() {
	if c := m.at.Load(); c != nil {
		wake.Up(c.credit)
	}
	if m.behind.Swap(false) {
		m.again()
	}
}

// Dropped returns how many pictures the client has missed.
func (m *Subscriber) Dropped() int64 {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	n := m.missed.Load()
	if c := m.at.Load(); c != nil {
		n += c.watch.Dropped() - m.since
	}
	return n
}

// Leave ends it. It may be called twice.
func (m *Subscriber) Leave() {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.left = true
	m.part()
}

// isAlone reports whether it must have an encoder of its own.
func (m *Subscriber) isAlone() bool { return time.Now().UnixNano() < m.alone.Load() }

// move takes a member from its coder, if it has one, to another that is as it wants, or to a new
// one. With from, a member that has left it stays where it is.
func (s *EncoderPool) move(m *Subscriber, from *coder) {
	w, rate := m.client.Want(), m.client.Rate()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := m.at.Load()
	if m.left || from != nil && at != from {
		return
	}
	m.part()
	if !m.isAlone() {
		for _, c := range s.coders {
			if c != at && c.want == w && c.takes(rate) {
				c.add(m)
				return
			}
		}
	}
	if s.ctx.Err() == nil {
		s.begin(w, rate).add(m)
	}
}

// begin starts a coder; s.mu is held.
func (s *EncoderPool) begin(w EncoderKey, rate float64) *coder {
	c := &coder{pool: s, want: w, watch: s.session.Watch(1), credit: make(chan struct{}, 1), looked: time.Now()}
	ctx, cancel := context.WithCancel(s.ctx)
	c.cancel = cancel
	s.coders = append(s.coders, c)
	s.running.Go(func() {
		defer c.watch.Close()
		err := c.run(ctx, rate)
		for _, m := range s.end(c) {
			if err != nil {
				m.client.Refuse(err)
			}
			m.client.End()
		}
	})
	return c
}

// end closes a coder for new members, and returns its members.
func (s *EncoderPool) end(c *coder) []*Subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coders = slices.DeleteFunc(s.coders, func(x *coder) bool { return x == c })
	return c.members
}

// part takes a member from its coder, which ends with its last one; pool.mu is held.
func (m *Subscriber) part() {
	c := m.at.Swap(nil)
	if c == nil {
		return
	}
	m.missed.Add(c.watch.Dropped() - m.since)
	c.members = slices.DeleteFunc(slices.Clone(c.members), func(x *Subscriber) bool { return x == m })
	if len(c.members) == 0 {
		c.cancel()
		m.pool.coders = slices.DeleteFunc(m.pool.coders, func(x *coder) bool { return x == c })
	}
	wake.Up(c.credit)
}

// another reports whether the only member of a coder could share another one.
func (s *EncoderPool) another(c *coder) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.members) != 1 || c.members[0].isAlone() {
		return false
	}
	rate := c.members[0].client.Rate()
	return slices.ContainsFunc(s.coders, func(x *coder) bool { return x != c && x.want == c.want && x.takes(rate) })
}
