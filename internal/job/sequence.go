package job

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/asticode/go-astiav"

	"vidfilter/encode"
)

// sequence is the packets of parts that are coded side by side, in order. Those of the part that is
// being written are taken without limit; parts after it wait when they have too many.
type sequence struct {
	mu      sync.Mutex
	changed sync.Cond
	parts   []codedPart
	taken   int // parts that are being coded, or were
	now     int // the part that is being written
	waiting int64
	most    int64 // bytes of packets that may wait
	stopped bool
	err     error

	coders []*encode.Coder // closed
	extras []string        // of decoders
}

type codedPart struct {
	packets []*astiav.Packet
	cancel  context.CancelFunc
	done    bool
}

func newSequence(parts int, most int64) *sequence {
	s := &sequence{parts: make([]codedPart, parts), most: most}
	s.changed.L = &s.mu
	return s
}

// take returns the next part to code, and a context for it.
func (s *sequence) take(ctx context.Context) (k int, _ context.Context, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == len(s.parts) || s.stopped || s.err != nil {
		return 0, nil, false
	}
	k = s.taken
	s.taken++
	ctx, s.parts[k].cancel = context.WithCancel(ctx)
	return k, ctx, true
}

// give adds a packet, which it borrows, to a part.
func (s *sequence) give(ctx context.Context, k int, p *astiav.Packet) error {
	defer context.AfterFunc(ctx, s.changed.Broadcast)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k > s.now && s.waiting+int64(p.Size()) > s.most && s.err == nil && ctx.Err() == nil {
		s.changed.Wait()
	}
	switch {
	case s.err != nil:
		return s.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	own := p.Clone()
	if own == nil {
		return errors.New("out of memory")
	}
	s.parts[k].packets = append(s.parts[k].packets, own)
	s.waiting += int64(own.Size())
	s.changed.Broadcast()
	return nil
}

// done says that a part has all its packets.
func (s *sequence) done(k int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[k].done = true
	s.parts[k].cancel()
	s.changed.Broadcast()
}

// add keeps what is left of coding a part.
func (s *sequence) add(c *encode.Coder, extras []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coders, s.extras = append(s.coders, c), append(s.extras, extras...)
}

// stop ends the sequence with the part that is being written.
func (s *sequence) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for k := s.now + 1; k < s.taken; k++ {
		s.parts[k].cancel()
	}
	s.changed.Broadcast()
}

// fail ends the sequence by the error of a part. Those that stop has cancelled have one for that.
func (s *sequence) fail(k int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped || k <= s.now {
		s.close(err)
	}
}

// end ends the sequence by an error.
func (s *sequence) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(err)
}

// close frees all packets. The first error is the one that next returns.
func (s *sequence) close(err error) {
	s.err = cmp.Or(s.err, err)
	for k := range s.parts {
		for _, p := range s.parts[k].packets {
			p.Free()
		}
		s.parts[k].packets = nil
		if s.parts[k].cancel != nil {
			s.parts[k].cancel()
		}
	}
	s.changed.Broadcast()
}

// next returns the next packet, which it gives away; io.EOF after the last one.
func (s *sequence) next() (*astiav.Packet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		switch part := &s.parts[s.now]; {
		case len(part.packets) > 0:
			p := part.packets[0]
			part.packets = part.packets[1:]
			s.waiting -= int64(p.Size())
			return p, nil
		case !part.done && !(s.stopped && s.now == s.taken):
			s.changed.Wait()
		case s.stopped || s.now == len(s.parts)-1:
			return nil, io.EOF
		default:
			s.now++
			s.changed.Broadcast()
		}
	}
	return nil, s.err
}
