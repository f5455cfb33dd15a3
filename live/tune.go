package live

import (
	"context"

	"vidfilter/internal/wake"
	"vidfilter/kernels"
)

// preparer is a backend that is slow with new parameters at first: a GPU compiles kernels on
// demand.
type preparer interface {
	Prepare(ctx context.Context, s kernels.Stage) error
}

// tune applies a new filter once the backend is ready for it. Until then the old one applies.
func (s *Session) tune(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wanted:
		}
		s.mu.Lock()
		to := s.set
		s.mu.Unlock()
		for _, f := range to.all() {
			if err := s.ready(ctx, f); err != nil {
				return err
			}
		}
		s.mu.Lock()
		s.inForce = to
		s.mu.Unlock()
		wake.Up(s.tuned)
	}
}

func (s *Session) ready(ctx context.Context, f FilterSettings) error {
	b, slow := s.o.Backend.(preparer)
	to, err := f.Resolved()
	if err != nil || !slow {
		return err
	}
	for _, stage := range to.Stages() {
		if err := b.Prepare(ctx, stage); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// tuneAhead prepares the backend for the options within reach of the sliders, after the first
// picture. The denoiser's kernels are the same for all its options: they are there once it is.
func (s *Session) tuneAhead(ctx context.Context) error {
	w := s.Watch(1)
	defer w.Close()
	first, err := w.Next(ctx)
	if err != nil {
		return nil
	}
	first.Release()
	w.Close()
	if s.o.Compile != nil && s.o.Compile(ctx) != nil {
		return nil // each is compiled on demand instead
	}
	for _, kind := range kernels.Filters() {
		s.mu.Lock()
		f := s.set.filter
		s.mu.Unlock()
		f.Choose(kind)
		v, ok := f.Main().(kernels.Varied)
		if !ok {
			continue
		}
		for _, near := range v.Near() {
			if f.Put(near); ctx.Err() != nil {
				return nil
			}
			if err := s.ready(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}
