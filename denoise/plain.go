package denoise

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Plain is the engine that calls Reference: slow, and the standard for tests of the others.
type Plain struct{}

type plainPicture plane.Picture

func (plainPicture) Retire()  {}
func (plainPicture) Release() {}

// Prepare copies the samples.
func (Plain) Prepare(_ context.Context, f *pipeline.Frame, field plane.Field) (Picture, error) {
	return plainPicture(plane.Of(f, field)), nil
}

type plainSum struct{ plane.Sum }

func (s *plainSum) Add(_ context.Context, p Picture) error {
	s.Sum.Add(plane.Picture(p.(plainPicture)))
	return nil
}

func (*plainSum) Release() {}

// Sum returns a sum of samples.
func (Plain) Sum(context.Context, Picture) (Sum, error) { return &plainSum{}, nil }

// Copies returns true.
func (Plain) Copies() bool { return true }

// Denoise calls Reference.
func (Plain) Denoise(_ context.Context, j Job) (Wait, error) {
	window := make([]plane.Picture, len(j.Window))
	for i, p := range j.Window {
		window[i] = plane.Picture(p.(plainPicture))
	}
	var past []plane.Sum
	for _, p := range j.Past {
		past = append(past, p.Sum.(*plainSum).Sum)
	}
	ReferenceAt(j.Out.Layout.Info().Depth, window, j.Centre, j.Noise, j.Settings, past...).Into(j.Out, j.Field)
	return nil, nil
}

// Depth returns 0.
func (Plain) Depth() int { return 0 }

// Idle is empty.
func (Plain) Idle() {}
