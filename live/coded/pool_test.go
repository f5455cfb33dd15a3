package coded

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/live/preview"
)

// viewer is a client of a test.
type viewer struct {
	member *Subscriber

	mu      sync.Mutex
	want    EncoderKey
	rate    float64
	stopped bool // it has no room
	came    map[int64][]byte
	keys    int
	newest  int64
	ended   bool
}

func (s *EncoderPool) viewer(t *testing.T, view preview.View) *viewer {
	v := &viewer{want: EncoderKey{Kind: preview.AVC, View: view}, rate: 4e6, came: map[int64][]byte{}}
	v.member = s.Join(v)
	t.Cleanup(v.member.Leave)
	return v
}

func (v *viewer) set(change func()) {
	v.mu.Lock()
	change()
	v.mu.Unlock()
	v.member.Ready()
}

func (v *viewer) Want() EncoderKey {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.want
}

func (v *viewer) Rate() float64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rate
}

func (v *viewer) Room() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.stopped
}

func (v *viewer) Interval() time.Duration { return 0 }
func (v *viewer) Refuse(error)            {}

func (v *viewer) End() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
}

func (v *viewer) Take(p Picture) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.came) == 0 && (!p.Key || p.Config == nil) {
		panic("the first picture is no key frame")
	}
	if p.Key {
		v.keys++
	}
	v.came[p.ID], v.newest = p.Data, p.ID
}

// until waits for more pictures.
func (v *viewer) more(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.came)
	}
	from := count()
	e2e.Until(t, "more pictures", func() bool { return count() >= from+n })
}

// groups returns how many members each encoder has, the most first.
func (s *EncoderPool) groups() (sizes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.coders {
		sizes = append(sizes, len(c.members))
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	return sizes
}

func (s *EncoderPool) grouped(t *testing.T, want ...int) {
	t.Helper()
	e2e.Until(t, "other groups", func() bool { return slices.Equal(s.groups(), want) })
}

// Readers and viewers of one view share encoded pictures. Another view has its own encoder. A
// viewer that changes its view moves to that encoder.
func TestShare(t *testing.T) {
	s, _, _ := open(t)
	a, b, other := s.viewer(t, preview.ViewFiltered), s.viewer(t, preview.ViewFiltered), s.viewer(t, preview.ViewOriginal)
	r := s.Read()
	s.grouped(t, 3, 1)
	a.more(t, 30)
	b.more(t, 10)
	other.more(t, 1)
	same := 0
	a.mu.Lock()
	b.mu.Lock()
	for id, data := range a.came {
		if theirs := b.came[id]; theirs != nil {
			if same++; !bytes.Equal(theirs, data) {
				t.Errorf("picture %d is encoded twice", id)
			}
		}
	}
	a.mu.Unlock()
	b.mu.Unlock()
	if same < 10 {
		t.Errorf("only %d pictures in common", same)
	}
	r.Close()
	b.set(func() { b.want.View = preview.ViewOriginal })
	b.member.Changed()
	s.grouped(t, 2, 1)
	for _, v := range []*viewer{a, b, other} {
		v.more(t, 2)
		v.member.Leave()
		v.member.Leave()
	}
	s.grouped(t)
}

// A stopped viewer delays no other, gets a key frame when it resumes, and gets its own encoder
// after repeated stops. Missed pictures are counted.
func TestStops(t *testing.T) {
	s, _, _ := open(t)
	a, b := s.viewer(t, preview.ViewFiltered), s.viewer(t, preview.ViewFiltered)
	b.more(t, 1)
	for range mayMiss + 1 {
		b.set(func() { b.stopped = true })
		a.more(t, 5)
		b.mu.Lock()
		keys := b.keys
		b.mu.Unlock()
		b.set(func() { b.stopped = false })
		e2e.Until(t, "a key frame", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.keys > keys
		})
	}
	s.grouped(t, 1, 1)
	b.more(t, 5)
	if b.member.Dropped() < 3*mayMiss {
		t.Errorf("%d pictures were missed", b.member.Dropped())
	}
}

// One that misses the last picture before a freeze gets it when it has room again.
func TestStopsAtTheEnd(t *testing.T) {
	s, _, _ := open(t)
	a, b := s.viewer(t, preview.ViewFiltered), s.viewer(t, preview.ViewFiltered)
	b.more(t, 1)
	b.set(func() { b.stopped = true })
	a.more(t, 1)
	s.session.Freeze(true)
	last := int64(-1)
	e2e.Until(t, "the end", func() bool {
		p := s.session.Latest()
		defer p.Release()
		before := last
		last = p.ID
		time.Sleep(50 * time.Millisecond)
		a.mu.Lock()
		defer a.mu.Unlock()
		return last == before && a.newest == last
	})
	b.set(func() { b.stopped = false })
	e2e.Until(t, "the last picture", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.newest == last
	})
}

// One whose line takes less than half of the rate has an encoder of its own, and shares one again
// later.
func TestThinLine(t *testing.T) {
	defer func(a, r time.Duration) { apart, rejoin = a, r }(apart, rejoin)
	apart, rejoin = 100*time.Millisecond, 100*time.Millisecond
	s, _, _ := open(t)
	a, b := s.viewer(t, preview.ViewFiltered), s.viewer(t, preview.ViewFiltered)
	s.grouped(t, 2)
	b.set(func() { b.rate = 200e3 })
	s.grouped(t, 1, 1)
	b.set(func() { b.rate = 2.4e6 })
	s.grouped(t, 2)
	a.more(t, 2)
	b.more(t, 2)
}

// The end reaches present and late viewers, and late readers.
func TestEnd(t *testing.T) {
	s, _, end := open(t)
	v := s.viewer(t, preview.ViewFiltered)
	v.more(t, 1)
	end()
	hears := func(v *viewer) {
		t.Helper()
		e2e.Until(t, "the end", func() bool {
			v.mu.Lock()
			defer v.mu.Unlock()
			return v.ended
		})
	}
	hears(v)
	hears(s.viewer(t, preview.ViewFiltered))
	if _, err := s.Read().Next(t.Context()); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	s.Close()
	s.viewer(t, preview.ViewFiltered) // no effect after Close
}
