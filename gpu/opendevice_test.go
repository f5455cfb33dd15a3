package gpu

import (
	"errors"
	"sync"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
)

// TestFunctions: a kernel is compiled once for any number of callers, and again after a failure.
func TestFunctions(t *testing.T) {
	var s functions
	bad := errors.New("bad")
	if _, err := s.get("k", func() (*function, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
	want, calls := &function{}, 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			f, err := s.get("k", func() (*function, error) {
				calls++
				time.Sleep(time.Millisecond)
				return want, nil
			})
			if f != want || err != nil {
				t.Errorf("got %p (%v), want %p", f, err, want)
			}
		})
	}
	all.Wait()
	if calls != 1 {
		t.Errorf("compiled %d times", calls)
	}
}

// TestWarm: the kernel compiled ahead is the one that the filter uses, and a backend may be closed
// meanwhile.
func TestWarm(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	p := kernels.DefaultBilateral(4)
	b := open(t, Options{})
	b.Warm(p)
	b.warming.Wait()
	v, err := kernels.Choose(p, smallFormat, b.Limits())
	e2e.Must(t, err)
	for _, u := range b.units {
		if l := u.loaded.all[v.Name]; l == nil || l.f == nil {
			t.Errorf("%s has not loaded %s", u, v.Name)
		}
	}
	if b.ColdStart().Module <= 0 {
		t.Error("no time was taken")
	}
	closing := open(t, Options{All: true})
	closing.Warm(p)
}
