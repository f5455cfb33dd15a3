// Package chaintest tests chains of the filters of a backend.
package chaintest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"vidfilter/denoise/denoisetest"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Clip is a noisy video, perhaps only a part of it. The filters read the frames around it.
type Clip struct {
	Format     pipeline.Format
	Interlaced bool
	Frames     int
	From, To   int // of the part
}

func (c Clip) String() string {
	fields := ""
	if c.Interlaced {
		fields = " interlaced"
	}
	return fmt.Sprintf("%s%s %d to %d of %d", c.Format.Layout, fields, c.From, c.To, c.Frames)
}

// Small returns a clip of a layout that is wanted whole: longer than most windows.
func Small(l pipeline.Layout, interlaced bool) Clip {
	const frames = 14
	return Clip{pipeline.Format{Layout: l, Width: 64, Height: 48, Matrix: pipeline.BT709}, interlaced, frames, 0, frames}
}

// Parts returns pairs of filters, and clips with a wanted part that does not begin where the frames
// around it do.
func Parts() map[Clip][2]kernels.Stage {
	all := Filters()
	fast, good, best, bilateral, recursive := all[0], all[1], all[2], all[3], all[4]
	part := func(l pipeline.Layout, interlaced bool, from, frames int) Clip {
		c := Small(l, interlaced)
		c.From, c.To, c.Frames = from, from+3, frames
		return c
	}
	return map[Clip][2]kernels.Stage{
		part(pipeline.YUV420P, false, 30, 44):         {bilateral, fast},
		part(pipeline.YUV420P, true, 31, 44):          {fast, recursive},
		part(pipeline.YUV444P, false, 54, 72):         {fast, good},
		part(pipeline.GBRP.At(10), false, 53, 70):     {good, fast},
		part(pipeline.GRAY, true, 30, 45):             {recursive, good},
		part(pipeline.GBRP, false, 30, 40):            {bilateral, recursive},
		part(pipeline.YUV420P.At(10), false, 82, 101): {good, best},
		part(pipeline.YUV420P, false, 124, 143):       {best, best}, // sums of the past begin at multiples of 16
	}
}

// Pair returns pair n of the filters.
func Pair(n int) (first, second kernels.Stage) {
	all := Filters()
	return all[n/len(all)%len(all)], all[n%len(all)]
}

// Pairs is how many pairs there are.
var Pairs = len(Filters()) * len(Filters())

// ClipOf returns clip n of 16 in all layouts, of 8 and 10 bits, of frames and of fields.
func ClipOf(n int) Clip {
	l := []pipeline.Layout{pipeline.YUV420P, pipeline.YUV444P, pipeline.GBRP, pipeline.GRAY}[n%4]
	if n/4%2 > 0 {
		l = l.At(10)
	}
	return Small(l, n/8%2 > 0)
}

// Filters are the program's own.
func Filters() (all []kernels.Stage) {
	for _, q := range []kernels.Quality{kernels.Fast, kernels.Good, kernels.Best} {
		p := kernels.DefaultDenoise()
		p.Quality = q
		all = append(all, p)
	}
	recursive := kernels.DefaultRecursive()
	recursive.SigmaS = 3
	return append(all, kernels.DefaultBilateral(2), recursive)
}

// Name names a filter of Filters.
func Name(p kernels.Stage) string {
	if d, ok := p.(kernels.Denoise); ok {
		return d.Quality.String()
	}
	return p.Filter().Name
}

// Memory has frames in the memory of a device alone between the filters of a chain, if both work
// there; nil: unavailable.
type Memory interface{ KeepBetween(*pipeline.Pool) }

// Result is the result of a frame.
type Result struct {
	PTS     int64
	Format  pipeline.Format
	Samples []byte
}

// Link returns a filter of a backend. A pool for it has room for spare frames more than it needs.
func Link(b kernels.Backend, p kernels.Stage) pipeline.Link {
	_, onDevice := p.(kernels.Planned)
	return pipeline.Link{
		Name: Name(p), Window: p.Window(), Takes: p.Takes, Results: b.Held(p), OnDevice: onDevice,
		Pool: func(limit int, next *pipeline.Link) *pipeline.Pool {
			pool := pipeline.NewPool(b, limit)
			if m, ok := b.(Memory); ok && next != nil && next.OnDevice {
				m.KeepBetween(pool)
			}
			return pool
		},
		Open: func(pool *pipeline.Pool, _ *pipeline.Link, _ int) (pipeline.Filter, error) { return b.Filter(p, pool) },
	}
}

// Play filters a part of a clip as a job does, in one chain, and returns its frames.
func (c Clip) Play(t *testing.T, b kernels.Backend, filters ...kernels.Stage) []Result {
	t.Helper()
	s := c.source(b)
	defer s.pool.Close()
	var links []pipeline.Link
	var w pipeline.Window
	for _, p := range filters {
		links = append(links, Link(b, p))
		w = w.Then(p.Window())
	}
	s.next, s.end = max(c.From-w.Before, 0), min(c.To+w.After, c.Frames)
	s.next -= s.next % max(w.Step, 1)
	return run(t, s, links)
}

// PlayApart filters the whole clip by one filter after another, each with the results of the one
// before as its source, and returns the frames of the part.
func (c Clip) PlayApart(t *testing.T, b kernels.Backend, filters ...kernels.Stage) (last []Result) {
	t.Helper()
	from, to := c.From, c.To
	c.From, c.To = 0, c.Frames
	for i, p := range filters {
		s := c.source(b)
		s.end = c.Frames
		if i > 0 {
			s.draw = func(f *pipeline.Frame, n int) { f.CopySamples(last[n].frame()) }
		}
		last = run(t, s, []pipeline.Link{Link(b, p)})
		s.pool.Close()
	}
	return last[from:to]
}

func (r Result) frame() *pipeline.Frame {
	f := pipeline.Blank(r.Format)
	read := bytes.NewReader(r.Samples)
	for i, y := range f.Rows() {
		_, _ = io.ReadFull(read, f.Row(i, y))
	}
	return f
}

// Check runs a subtest that compares a chain of two filters with one after the other.
func (c Clip) Check(t *testing.T, b kernels.Backend, first, second kernels.Stage) {
	t.Run(fmt.Sprintf("%s, %s, %s", Name(first), Name(second), c), func(t *testing.T) {
		got, want := c.Play(t, b, first, second), c.PlayApart(t, b, first, second)
		if len(got) != len(want) {
			t.Fatalf("%d frames instead of %d", len(got), len(want))
		}
		for i, g := range got {
			w := want[i]
			if g.PTS != w.PTS || g.Format != w.Format {
				t.Fatalf("frame %d: %v at %d instead of %v at %d", i, g.Format, g.PTS, w.Format, w.PTS)
			}
			if !bytes.Equal(g.Samples, w.Samples) {
				t.Fatalf("frame %d has other samples", i)
			}
		}
	})
}

// source yields frames of a clip.
type source struct {
	Clip
	pool      *pipeline.Pool
	next, end int
	draw      func(f *pipeline.Frame, n int)
}

func (c Clip) source(b kernels.Backend) *source {
	return &source{Clip: c, pool: pipeline.NewPool(b.Input(), 1), draw: denoisetest.DrawFrame}
}

func (s *source) Next(ctx context.Context) (*pipeline.Frame, error) {
	if s.next == s.end {
		return nil, io.EOF
	}
	f, err := s.pool.TakeFrame(s.Format, nil)
	if err != nil {
		return nil, err
	}
	n := s.next
	s.next++
	s.draw(f, n)
	f.PTS, f.Duration, f.Interlaced = int64(n), 1, s.Interlaced
	f.Quantiser = quantiser(n)
	f.Context = n < s.From || n >= s.To
	return f, ctx.Err()
}

// quantiser returns frame n's quantiser, which counts in the denoiser's noise.
func quantiser(n int) pipeline.Quantiser {
	return pipeline.Quantiser{Step: float32(20 + 3*(n%3)), Smoothed: n%4 == 0}
}

// sink keeps its frames.
type sink struct{ got []Result }

func (s *sink) Put(_ context.Context, f *pipeline.Frame) error {
	defer f.Release()
	if want := quantiser(int(f.PTS)); f.Quantiser != want || f.Context {
		return fmt.Errorf("frame %d has the quantiser %v instead of %v, context %v", f.PTS, f.Quantiser, want, f.Context)
	}
	r := Result{PTS: f.PTS, Format: f.Format}
	for i, y := range f.Rows() {
		r.Samples = append(r.Samples, f.Row(i, y)...)
	}
	s.got = append(s.got, r)
	return nil
}

func (s *sink) Finish(context.Context) error { return nil }

func run(t *testing.T, s *source, links []pipeline.Link) []Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	chain := pipeline.NewChain(links, 1)
	defer chain.Close()
	f, err := chain.Open()
	e2e.Must(t, err)
	var out sink
	e2e.Must(t, pipeline.Run(ctx, s, []pipeline.Filter{f}, &out, pipeline.Options{}))
	if n := s.pool.InUse(); n != 0 {
		t.Errorf("%d frames were not released", n)
	}
	return out.got
}
