package denoise

import (
	"context"
	"slices"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// InTurn returns an engine of several that take turns: each denoises a run of frames, for settings
// with the window of s. Frames near the ends of a run are prepared by both, and all frames by all
// engines where results depend on the past.
func InTurn(engines []Engine, run int, s Settings) Engine {
	t := &inTurn{engines: engines, run: run}
	t.before, t.after = s.Window()
	if s.Runs > 0 {
		t.before = max(t.before, run*len(engines))
	}
	return t
}

type inTurn struct {
	engines       []Engine
	run           int
	before, after int
	prepared      [plane.Bottom + 1]int // pictures of each kind
}

// pictureInTurn is a picture as the engines keep it whose results depend on it.
type pictureInTurn struct {
	number int
	by     []Picture // nil for the others
}

// of returns the engine whose turn a picture is.
func (t *inTurn) of(number int) int { return number / t.run % len(t.engines) }

func (t *inTurn) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (Picture, error) {
	p := &pictureInTurn{t.prepared[field], make([]Picture, len(t.engines))}
	for n := max(p.number-t.after, 0); n <= p.number+t.before; n++ {
		i := t.of(n)
		if p.by[i] != nil {
			continue
		}
		own, err := t.engines[i].Prepare(ctx, f, field)
		if err != nil {
			p.Release()
			return nil, err
		}
		p.by[i] = own
	}
	t.prepared[field]++
	return p, nil
}

// sumInTurn is a sum as the engines keep it.
type sumInTurn []Sum

func (t *inTurn) Sum(ctx context.Context, like Picture) (Sum, error) {
	var all sumInTurn
	for i, own := range like.(*pictureInTurn).by {
		s, err := t.engines[i].Sum(ctx, own)
		if err != nil {
			all.Release()
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (s sumInTurn) Add(ctx context.Context, p Picture) error {
	for i, own := range p.(*pictureInTurn).by {
		if err := s[i].Add(ctx, own); err != nil {
			return err
		}
	}
	return nil
}

func (s sumInTurn) Release() {
	for _, own := range s {
		own.Release()
	}
}

func (t *inTurn) Copies() bool { return t.engines[0].Copies() }

func (t *inTurn) Denoise(ctx context.Context, j Job) (Wait, error) {
	i := t.of(j.Window[j.Centre].(*pictureInTurn).number)
	window := make([]Picture, len(j.Window))
	for k, p := range j.Window {
		window[k] = p.(*pictureInTurn).by[i]
	}
	j.Window = window
	past := slices.Clone(j.Past)
	for k, p := range past {
		past[k].Sum = p.Sum.(sumInTurn)[i]
	}
	j.Past = past
	return t.engines[i].Denoise(ctx, j)
}

// Depth lets all engines but one have a whole run, while that one begins the next.
func (t *inTurn) Depth() int { return t.run*(len(t.engines)-1) + t.engines[0].Depth() }

// Idle also ends the turns: the next picture is the first again.
func (t *inTurn) Idle() {
	for _, e := range t.engines {
		e.Idle()
	}
	clear(t.prepared[:])
}

func (p *pictureInTurn) Retire() { p.each(Picture.Retire) }

func (p *pictureInTurn) Release() { p.each(Picture.Release) }

func (p *pictureInTurn) each(do func(Picture)) {
	for _, own := range p.by {
		if own != nil {
			do(own)
		}
	}
}
