// Package coded encodes the filtered picture of a session as one H.264 stream for any number of
// readers, while there are any. A reader that falls behind loses pictures and goes on with a key
// frame; it holds up neither the session nor the others.
package coded

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"vidfilter/internal/units"
	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/preview"
)

const (
	// keyInterval is the longest time from one key frame to the next: players begin anywhere, and
	// recorders cut there.
	keyInterval = 2 * time.Second
	// keyPause is the least time between key frames that readers ask for.
	keyPause = 300 * time.Millisecond
	// most is how many pictures wait for a reader.
	most = 32
)

// Picture is an encoded picture. It is shared and read-only.
type Picture struct {
	Units [][]byte // NAL units without start codes; the parameter sets come first in a key frame
	Key   bool
	At    time.Duration // since the stream's start, rising
	Taken time.Time     // when the picture was taken
}

// Stream is the H.264 stream of a session. It is safe for concurrent use.
type Stream struct {
	session *live.Session
	threads int

	mu      sync.Mutex
	readers map[*Reader]struct{}
	current *encoding // nil without readers
}

// New returns a stream, whose encoder has so many threads, 0 for the program's choice.
func New(s *live.Session, threads int) *Stream {
	return &Stream{session: s, threads: threads, readers: map[*Reader]struct{}{}}
}

// Reader takes the pictures of a stream. Next is for one goroutine.
type Reader struct {
	stream *Stream
	full   chan struct{} // holds an element when there may be pictures

	// guarded by the stream's mutex
	queue []*Picture
	lost  bool // it waits for a key frame
	err   error
}

// ErrEnded is the end of a session.
var ErrEnded = errors.New("the session has ended")

// Join returns a reader, whose first picture is a key frame. The caller closes it.
func (s *Stream) Join() *Reader {
	r := &Reader{stream: s, full: make(chan struct{}, 1), lost: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[r] = struct{}{}
	if s.current == nil {
		s.current = s.begin()
	}
	s.current.wantKey()
	return r
}

// Key asks for a key frame.
func (r *Reader) Key() {
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	if e := r.stream.current; e != nil {
		e.wantKey()
	}
}

// Next waits for a picture. It fails when ctx or the session ends.
func (r *Reader) Next(ctx context.Context) (*Picture, error) {
	for {
		if p, err := r.take(); p != nil || err != nil {
			return p, err
		}
		select {
		case <-r.full:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (r *Reader) take() (*Picture, error) {
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	if len(r.queue) == 0 {
		return nil, r.err
	}
	p := r.queue[0]
	r.queue = r.queue[1:]
	return p, nil
}

// Close ends the reader, and the encoder with the last one.
func (r *Reader) Close() {
	s := r.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, r)
	r.queue, r.err = nil, ErrEnded
	wake.Up(r.full)
	if len(s.readers) == 0 && s.current != nil {
		s.current.end()
		s.current = nil
	}
}

// encoding is one run of the encoder.
type encoding struct {
	stream *Stream
	watch  *live.Watcher
	end    context.CancelFunc
	key    bool      // one is wanted; guarded by the stream's mutex, as is last
	last   time.Time // key frame

	sets  [][]byte
	start time.Time
	at    time.Duration
}

// begin starts an encoder; s.mu is held.
func (s *Stream) begin() *encoding {
	ctx, end := context.WithCancel(context.Background())
	e := &encoding{stream: s, watch: s.session.Watch(1), end: end, at: -1}
	go func() {
		defer e.watch.Close()
		e.run(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.current != e {
			return
		}
		s.current = nil
		for r := range s.readers {
			r.err = ErrEnded
			wake.Up(r.full)
		}
	}()
	return e
}

// wantKey asks for a key frame; the stream's mutex is held.
func (e *encoding) wantKey() {
	if !e.key {
		e.key = true
		e.watch.Again() // no other picture may come
	}
}

// takeKey reports whether the next picture has to be a key frame.
func (e *encoding) takeKey() bool {
	e.stream.mu.Lock()
	defer e.stream.mu.Unlock()
	since := time.Since(e.last)
	switch {
	case since > keyInterval:
	case !e.key:
		return false
	case since < keyPause:
		time.AfterFunc(keyPause-since, e.watch.Again)
		return false
	}
	e.key = false
	return true
}

// run encodes pictures until ctx or the session ends.
func (e *encoding) run(ctx context.Context) {
	st, _ := e.stream.session.State()
	p, err := preview.New(preview.Options{
		Kind: preview.AVC, View: preview.ViewFiltered, FrameRate: min(st.FrameRate, 1000), Threads: e.stream.threads,
	})
	if err != nil {
		return
	}
	defer p.Close()
	for {
		pair, err := e.watch.Next(ctx)
		if err != nil {
			return
		}
		err = e.encode(p, pair)
		pair.Release()
		if err != nil && wake.Sleep(ctx, time.Second) != nil { // the next one may have another format
			return
		}
	}
}

// bitRate is ample for a clean picture of a size, so that crf decides.
func bitRate(width, height int, fps float64) int64 {
	const perSample = 0.15
	if fps <= 0 {
		fps = 30
	}
	return min(max(int64(float64(width*height)*min(fps, 60)*perSample), 1_000_000), 20_000_000)
}

func (e *encoding) encode(p *preview.Encoder, pair *live.Pair) error {
	key, now := e.takeKey(), time.Now()
	taken := pair.Taken
	if pair.Repeated || e.start.IsZero() || taken.Sub(e.start) <= e.at {
		taken = now // it is shown anew
	}
	if e.start.IsZero() {
		e.start = taken
	}
	st, _ := e.stream.session.State()
	p.SetBitRate(bitRate(pair.Filtered.Width, pair.Filtered.Height, st.FrameRate))
	packet, err := p.Encode(pair.Original, pair.Filtered, preview.Stamp{Time: live.Milliseconds(taken)}, key)
	if err != nil {
		return err
	}
	if packet.Config != nil {
		e.sets = packet.Config.Sets
	}
	e.at = max(taken.Sub(e.start), e.at+time.Millisecond)
	e.hand(&Picture{Units: e.units(packet), Key: packet.Key, At: e.at, Taken: taken})
	return nil
}

// units returns a copy of a packet's units.
func (e *encoding) units(p preview.Packet) (all [][]byte) {
	if p.Key {
		all = append(all, e.sets...)
	}
	list, _ := units.NALUnits(bytes.Clone(p.Data), 4)
	return append(all, list...)
}

// hand gives a picture to all readers.
func (e *encoding) hand(p *Picture) {
	s := e.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Key {
		e.last = time.Now()
	}
	if s.current != e {
		return
	}
	for r := range s.readers {
		if len(r.queue) == most {
			r.queue, r.lost = nil, true
		}
		if r.lost && !p.Key {
			e.key = true
			continue
		}
		r.lost = false
		r.queue = append(r.queue, p)
		wake.Up(r.full)
	}
}
