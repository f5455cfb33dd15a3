package coded

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"vidfilter/internal/units"
	"vidfilter/internal/wake"
	"vidfilter/live/preview"
)

// Unit is a picture for programs that know no acknowledgements. It is read-only.
type Unit struct {
	Units [][]byte // NAL units without start codes; the parameter sets come first in a key frame
	Key   bool
	At    time.Duration // since the reader's start, rising
	Taken time.Time     // when the picture was taken, or shown again
}

const (
	// keyInterval is the longest time from one key frame to the next: players begin anywhere, and
	// recorders cut there.
	keyInterval = 2 * time.Second
	// waiting is how many pictures wait for a reader: a recorder may be held up by a disk.
	waiting = 16
)

// Reader takes the filtered picture as H.264. One that falls behind misses pictures, and goes on
// with a key frame. Next is for one goroutine.
type Reader struct {
	pool   *EncoderPool
	member *Subscriber
	full   chan struct{} // holds an element when there may be pictures

	mu    sync.Mutex
	queue []*Unit
	sets  [][]byte
	start time.Time
	at    time.Duration
	err   error
}

// ErrEnded is the end of a session.
var ErrEnded = errors.New("the session has ended")

// Read returns a reader, whose first picture is a key frame. The caller closes it.
func (s *EncoderPool) Read() *Reader {
	r := &Reader{pool: s, full: make(chan struct{}, 1), at: -1}
	r.member = s.Join((*readerClient)(r))
	return r
}

// Key asks for a key frame.
func (r *Reader) Key() { r.member.Key() }

// Next waits for a picture. It fails when ctx or the session ends.
func (r *Reader) Next(ctx context.Context) (*Unit, error) {
	for {
		if u, err := r.take(); u != nil || err != nil {
			r.member.Ready()
			return u, err
		}
		select {
		case <-r.full:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (r *Reader) take() (*Unit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil, r.err
	}
	u := r.queue[0]
	r.queue = r.queue[1:]
	return u, nil
}

// Close ends the reader. It may be called twice.
func (r *Reader) Close() {
	r.member.Leave()
	(*readerClient)(r).End()
}

// readerClient is a reader for its pool.
type readerClient Reader

func (r *readerClient) Want() EncoderKey {
	return EncoderKey{Kind: preview.AVC, View: preview.ViewFiltered, Display: r.pool.Display()}
}

func (r *readerClient) Rate() float64 { return r.pool.Ample() }

func (r *readerClient) Interval() time.Duration { return keyInterval }

func (r *readerClient) Room() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) < waiting
}

func (r *readerClient) Take(p Picture) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Config != nil {
		r.sets = p.Config.Sets
	}
	taken := p.Taken
	if p.Again || r.start.IsZero() || taken.Sub(r.start) <= r.at {
		taken = time.Now() // it is shown anew
	}
	if r.start.IsZero() {
		r.start = taken
	}
	r.at = max(taken.Sub(r.start), r.at+time.Millisecond)
	u := &Unit{Key: p.Key, At: r.at, Taken: taken}
	if p.Key {
		u.Units = slices.Clone(r.sets)
	}
	list, _ := units.NALUnits(p.Data, 4)
	u.Units = append(u.Units, list...)
	r.queue = append(r.queue, u)
	wake.Up(r.full)
}

func (r *readerClient) Refuse(error) {} // the next picture may have another format

func (r *readerClient) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = ErrEnded
	wake.Up(r.full)
}
