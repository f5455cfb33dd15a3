package live

import (
	"context"

	"vidfilter/kernels"
)

// preparer is a backend that is quick with some parameters only after a while: a GPU compiles a kernel when it is first wanted.
type preparer interface {
	Prepare(ctx context.Context, p kernels.Params) error
}

// tune puts what the person sets in force, when the backend is ready for it; until then the old filter goes on, and no picture waits.
func (s *Session) tune(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wanted:
		}
		s.mu.Lock()
		f := s.filter
		s.mu.Unlock()
		if err := s.ready(ctx, f); err != nil {
			return err
		}
		s.mu.Lock()
		s.inForce = f
		s.mu.Unlock()
		poke(s.tuned)
	}
}

func (s *Session) ready(ctx context.Context, f Filter) error {
	b, slow := s.o.Backend.(preparer)
	p, err := f.Params()
	if err != nil || !slow {
		return err
	}
	if err := b.Prepare(ctx, p); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// tuneAhead has the backend make ready for the radii that a person may slide to, when the first picture is out.
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
		return nil // each is compiled when it is wanted, then
	}
	for r := 0; r <= kernels.MaxRadius && ctx.Err() == nil; r++ {
		s.mu.Lock()
		f := s.filter
		s.mu.Unlock()
		f.Choose(kernels.Bilateral.String())
		f.Radius = r
		if err := s.ready(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
