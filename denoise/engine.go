package denoise

import (
	"context"

	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Engine denoises pictures in one way: on the CPU or on a GPU.
type Engine interface {
	// Prepare makes of a frame, or of one of its fields, what the engine reads of it. The engine
	// may read the frame's samples until the picture is released.
	Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (Picture, error)

	// Denoise writes picture centre of the window to a frame, or to one of its fields. The window
	// holds as many pictures as the settings ask for, fewer at the ends of a scene.
	Denoise(ctx context.Context, j Job) error
}

// Picture is a picture as an engine keeps it. Its owner releases it once.
type Picture interface{ Release() }

// Job is one picture to denoise.
type Job struct {
	Out    *pipeline.Frame
	Field  plane.Field
	Window []Picture
	Centre int
	Noise  noise.Model
	Settings
}
