package coded

import (
	"context"
	"errors"
	"testing"
	"time"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/live/livetest/sessions"
	"vidfilter/pipeline"
)

// open runs a session of the test picture until the test or the returned function ends it.
func open(t *testing.T) (*EncoderPool, kernels.Backend, func()) {
	t.Helper()
	session, cpu, end := sessions.Run(t, sessions.Pattern(live.PatternOptions{Width: 160, Height: 90, FPS: 60}))
	s := New(session, 1)
	t.Cleanup(s.Close)
	return s, cpu, end
}

func next(t *testing.T, r *Reader) *Unit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p, err := r.Next(ctx)
	e2e.Must(t, err)
	return p
}

// Each reader begins with a key frame, and its pictures can be decoded.
func TestReaders(t *testing.T) {
	s, cpu, end := open(t)
	pool := pipeline.NewPool(cpu, 8)
	defer pool.Close()
	for range 2 {
		r := s.Read()
		d, err := decode.OpenStream("h264", pool, decode.StreamOptions{Threads: 1})
		e2e.Must(t, err)
		at := time.Duration(-1)
		for i := range 10 {
			p := next(t, r)
			if p.Key != (i == 0) && time.Since(p.Taken) < keyInterval/2 || p.At <= at {
				t.Errorf("picture %d: key %v, at %v after %v", i, p.Key, p.At, at)
			}
			at = p.At
			var b []byte
			for _, u := range p.Units {
				b = append(append(b, 0, 0, 0, 1), u...)
			}
			f, err := d.Decode(b, 0)
			if err != nil || f.Width != 160 || f.Height != 90 {
				t.Fatalf("picture %d: %v, %v", i, f, err)
			}
			f.Release()
		}
		d.Close()
		other := s.Read()
		if !next(t, other).Key {
			t.Error("the other begins in the middle")
		}
		r.Close()
		r.Close()
		next(t, other)
		other.Close()
		if got := s.groups(); len(got) > 0 {
			t.Errorf("without readers the encoders have %v", got)
		}
	}
	r := s.Read()
	next(t, r)
	end()
	for {
		if _, err := r.Next(t.Context()); err != nil {
			if !errors.Is(err, ErrEnded) {
				t.Error(err)
			}
			break
		}
	}
	r.Close()
}

// A slow reader delays no other, has a bounded queue, and gets a key frame on request.
func TestSlowReader(t *testing.T) {
	s, _, _ := open(t)
	slow, quick := s.Read(), s.Read()
	defer slow.Close()
	defer quick.Close()
	next(t, slow)
	begin := next(t, quick).At
	for next(t, quick).At < begin+2*time.Second {
	}
	if n := len(slow.queue.pictures); n > waiting {
		t.Errorf("%d pictures wait", n)
	}
	now := next(t, quick).At
	for {
		p := next(t, slow)
		if p.At >= now-time.Second {
			break
		}
	}
	slow.Key()
	for !next(t, slow).Key {
	}
}

// A reader that joins during a freeze gets a key frame at once.
func TestStill(t *testing.T) {
	s, _, _ := open(t)
	first := s.Read()
	defer first.Close()
	next(t, first)
	s.session.Freeze(true)
	time.Sleep(2 * keyPause)
	r := s.Read()
	defer r.Close()
	if p := next(t, r); !p.Key {
		t.Error("no key frame")
	}
}
