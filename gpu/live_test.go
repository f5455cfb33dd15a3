package gpu

import (
	"context"
	"errors"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestDrain: a filter can be drained after each frame and goes on.
func TestDrain(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{Streams: 1})
	pool := pipeline.NewPool(b, 2)
	defer pool.Close()
	p := kernels.DefaultBilateral(1)
	f, err := b.Filter(p, pool)
	e2e.Must(t, err)
	film := newFilm(t, b, smallFormat, 6)
	answers := film.answers(t, p)
	n := 0
	emit := func(out *pipeline.Frame) error {
		defer out.Release()
		if d := kerneltest.Compare(out, answers[n%len(answers)]); out.PTS != int64(n) || d.Largest > 1 {
			t.Errorf("frame %d has time %d: %s", n, out.PTS, d)
		}
		n++
		return nil
	}
	for i := range 6 {
		in, err := film.frame(i)
		e2e.Must(t, err)
		e2e.Must(t, f.Process(t.Context(), in, emit))
		e2e.Must(t, f.(*filter).Drain(t.Context(), emit))
		if n != i+1 {
			t.Errorf("%d frames came of %d", n, i+1)
		}
	}
	f.(*filter).Discard()
}

// TestPrepare: kernels can be compiled ahead, one or all of them, and a backend may be closed
// during a compilation.
func TestPrepare(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	p := kernels.DefaultBilateral(4)
	e2e.Must(t, b.Prepare(t.Context(), p))
	v, err := kernels.Choose(p, smallFormat, b.Limits())
	e2e.Must(t, err)
	if b.units[0].loaded.all[v.Name] == nil {
		t.Errorf("%s is not there", v.Name)
	}
	n, err := b.CompileAll(t.Context())
	if err != nil || n < kernels.MaxRadius || n != len(b.units[0].loaded.all) {
		t.Errorf("%d kernels, %d of them there: %v", n, len(b.units[0].loaded.all), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	other := open(t, Options{})
	if err := other.Prepare(ended, kernels.DefaultBilateral(5)); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
