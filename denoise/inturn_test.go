package denoise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// worker is an engine that does its jobs late: when they are waited for.
type worker struct {
	t        *testing.T
	pictures map[*ownPicture]bool
	kept     int // pictures that are not retired
	most     int
	results  []int64 // times of the frames that it denoised
	fails    int     // number of the job that fails; 0: no failure
}

// ownPicture is a picture of one worker.
type ownPicture struct {
	Picture
	worker  *worker
	retired bool
}

var errWorker = errors.New("the worker is out of order")

func (w *worker) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (Picture, error) {
	p, err := Plain{}.Prepare(ctx, f, field)
	own := &ownPicture{p, w, false}
	if w.pictures == nil {
		w.pictures = map[*ownPicture]bool{}
	}
	w.pictures[own] = true
	w.kept++
	w.most = max(w.most, w.kept)
	return own, err
}

func (p *ownPicture) Retire() {
	if !p.retired {
		p.retired = true
		p.worker.kept--
	}
}

func (p *ownPicture) Release() {
	p.Retire()
	if !p.worker.pictures[p] {
		p.worker.t.Error("a picture is released twice")
	}
	delete(p.worker.pictures, p)
}

func (w *worker) Denoise(_ context.Context, j Job) (Wait, error) {
	w.results = append(w.results, j.Out.PTS)
	if len(w.results) == w.fails {
		return nil, errWorker
	}
	for i, p := range j.Window {
		own := p.(*ownPicture)
		if own.worker != w || own.retired {
			w.t.Error("the window has a picture of another worker, or a retired one")
		}
		j.Window[i] = own.Picture
	}
	for i, p := range j.Past {
		j.Past[i].Sum = p.Sum.(*ownSum).now()
	}
	return func(ctx context.Context) error {
		_, err := Plain{}.Denoise(ctx, j)
		return err
	}, nil
}

// ownSum is a sum of one worker.
type ownSum struct {
	plainSum
	worker *worker
}

func (w *worker) Sum(context.Context, Picture) (Sum, error) { return &ownSum{worker: w}, nil }

func (s *ownSum) Add(ctx context.Context, p Picture) error {
	own := p.(*ownPicture)
	if own.worker != s.worker || own.retired {
		s.worker.t.Error("a picture of another worker, or a retired one, is added")
	}
	return s.plainSum.Add(ctx, own.Picture)
}

// now is the sum as it is, for a job that is done later.
func (s *ownSum) now() Sum {
	return &plainSum{plane.Sum{Picture: s.Picture.Clone(), Count: s.Count}}
}

func (w *worker) Depth() int { return 2 }

func (w *worker) Copies() bool { return false }

func (w *worker) Idle() {
	if len(w.pictures) > 0 {
		w.t.Errorf("idle with %d pictures", len(w.pictures))
	}
}

// take replaces the film's engine by workers.
func (f *film) take(workers, run int) (all []*worker) {
	var engines []Engine
	for range workers {
		w := &worker{t: f.t}
		all, engines = append(all, w), append(engines, w)
	}
	pool := pipeline.NewPool(heap{}, workers*run+2)
	f.t.Cleanup(pool.Close)
	f.pool = pool
	f.filter = NewFilter(InTurn(engines, run, f.filter.opts.Settings), pool, f.filter.opts)
	return all
}

// Any number of engines and any length of runs gives the bits of one engine.
func TestInTurn(t *testing.T) {
	tiny := pipeline.Format{Layout: pipeline.YUV420P, Width: 24, Height: 18, Matrix: pipeline.BT709}
	other := tiny
	other.Width, other.Layout = 20, pipeline.NV12
	every := func(n int, f *film) *pipeline.Frame { return f.frame(n, tiny) }
	causal := known(options(Fast))
	causal.Ahead = 0
	for _, test := range []struct {
		name   string
		o      Options
		frames int
		draw   func(n int, f *film) *pipeline.Frame
	}{
		{"fast", known(options(Fast)), 13, every},
		{"best", known(options(Best)), 26, every},
		{"measured", options(Fast), 11, every},
		{"one frame", known(options(Good)), 1, every},
		{"causal", causal, 9, every},
		{"size", known(options(Fast)), 12, func(n int, f *film) *pipeline.Frame {
			if n >= 5 {
				return f.frame(n, other)
			}
			return f.frame(n, tiny)
		}},
		{"fields", known(options(Fast)), 12, func(n int, f *film) *pipeline.Frame {
			in := f.frame(n, tiny)
			in.Interlaced = n >= 4
			return in
		}},
		{"part", known(options(Fast)), 14, func(n int, f *film) *pipeline.Frame {
			in := f.frame(n, tiny)
			in.Context = n < 3 || n >= 11
			return in
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			play := func(f *film) {
				f.still = test.o.Runs > 0
				for n := range test.frames {
					f.put(test.draw(n, f))
				}
				f.end()
			}
			one := newFilm(t, test.o)
			play(one)
			for workers := 1; workers <= 3; workers++ {
				for _, run := range []int{1, 2, 5, 40} {
					several := newFilm(t, test.o)
					all := several.take(workers, run)
					play(several)
					if err := same(several, one); err != nil {
						t.Errorf("%d workers, runs of %d: %v", workers, run, err)
					}
					before, after := test.o.Window()
					for i, w := range all {
						if most := len(plane.Fields(test.draw(test.frames-1, &film{}))) * (before + 1 + after); w.most > most {
							t.Errorf("%d workers, runs of %d: worker %d keeps %d pictures of %d", workers, run, i, w.most, most)
						}
					}
				}
			}
		})
	}
}

// same compares the results of two films.
func same(a, b *film) error {
	if !slices.Equal(a.order, b.order) {
		return fmt.Errorf("frames %v, not %v", a.order, b.order)
	}
	for n, pix := range b.got {
		if !bytes.Equal(a.got[n], pix) {
			return fmt.Errorf("frame %d differs", n)
		}
	}
	return nil
}

// Runs go to the engines in turn, and enough frames are under way that all have work.
func TestInTurnShares(t *testing.T) {
	o := options(Fast)
	o.Sigma = 8
	f := newFilm(t, o)
	workers := f.take(2, 4)
	if depth := f.filter.engine.Depth(); depth != 4+2 || f.filter.Held() != 3+3+depth {
		t.Errorf("a depth of %d, %d frames held", depth, f.filter.Held())
	}
	for n := range 12 {
		f.put(f.frame(n, small))
	}
	f.end()
	if got, want := fmt.Sprint(workers[0].results, workers[1].results), "[0 1 2 3 8 9 10 11] [4 5 6 7]"; got != want {
		t.Errorf("the turns are %s, not %s", got, want)
	}
}

// A pool with room for fewer results than may be under way is enough.
func TestInTurnFewResults(t *testing.T) {
	o := options(Fast)
	o.Sigma = 8
	f, one := newFilm(t, o), newFilm(t, o)
	f.take(2, 8)
	f.pool = pipeline.NewPool(heap{}, 1)
	defer f.pool.Close()
	f.filter.pool = f.pool
	for n := range 12 {
		f.put(f.frame(n, small))
		one.put(one.frame(n, small))
	}
	f.end()
	one.end()
	if err := same(f, one); err != nil {
		t.Error(err)
	}
}

// The error of one engine ends the run, which releases all frames and results.
func TestInTurnFails(t *testing.T) {
	o := options(Fast)
	o.Sigma = 8
	for _, fails := range []int{1, 3} {
		f := newFilm(t, o)
		f.take(3, 2)[1].fails = fails
		var err error
		for n := 0; n < 20 && err == nil; n++ {
			err = f.filter.Process(context.Background(), f.frame(n, small), f.emit)
		}
		f.filter.Discard()
		if !errors.Is(err, errWorker) || f.live != 0 || f.pool.InUse() != 0 {
			t.Errorf("job %d: %v; %d frames and %d results are not released", fails, err, f.live, f.pool.InUse())
		}
	}
}

// A causal filter may be drained after each frame, and emit the latest again.
func TestInTurnLive(t *testing.T) {
	o := options(Fast)
	o.Ahead, o.Sigma = 0, 8
	f, one := newFilm(t, o), newFilm(t, o)
	f.take(2, 2)
	for n := range 7 {
		for _, film := range []*film{f, one} {
			film.put(film.frame(n, small))
			e2e.Must(t, film.filter.Again(context.Background(), film.emit))
			e2e.Must(t, film.filter.Drain(context.Background(), film.emit))
		}
		if len(f.order) != 2*n+2 {
			t.Fatalf("%d results after %d frames", len(f.order), n+1)
		}
	}
	f.end()
	one.end()
	if err := same(f, one); err != nil {
		t.Error(err)
	}
}
