package denoise

import (
	"context"

	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Engine denoises pictures in one way: on the CPU or on a GPU. It is for one goroutine.
type Engine interface {
	// Prepare makes the engine's planes of a frame, or of one of its fields. The engine may read
	// the frame's samples until the picture is released, unless it copies them.
	Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (Picture, error)

	// Sum returns the sum of no pictures yet, for pictures like one of the engine's.
	Sum(ctx context.Context, like Picture) (Sum, error)

	// Copies reports that a prepared picture has all samples of the frame. Of a clean one, Denoise
	// gives them back.
	Copies() bool

	// Denoise begins to write the picture in the centre of a window to a frame, or to one of its
	// fields. The result is there when wait returns. Out and the pictures of the window stay until
	// then. A nil wait means that it is there already.
	Denoise(ctx context.Context, j Job) (wait Wait, err error)

	// Depth returns how many frames may be under way at once, 0 if Denoise ends with the result.
	Depth() int

	// Idle frees the engine's memory beside pictures. It may be used again.
	Idle()
}

// Wait returns when a result is there, or when the context ends, with its cause.
type Wait func(ctx context.Context) error

// Picture is a picture as an engine keeps it. Its owner retires and releases it once.
type Picture interface {
	// Retire announces that only jobs that have begun read the picture.
	Retire()

	// Release announces that these jobs have ended. The engine does not read the frame's samples
	// any more when it returns. It retires a picture that was not.
	Release()
}

// Sum is the sum of pictures as their engine keeps it. Its owner releases it once.
type Sum interface {
	// Add adds a picture, for the jobs to come, plane.SumOf at the most.
	Add(ctx context.Context, p Picture) error

	// Release announces that only jobs that have begun read the sum.
	Release()
}

// Past is a sum of Count pictures.
type Past struct {
	Sum
	Count int

	run int // its number
}

// Job is one picture to denoise. The window holds as many pictures as the settings ask for, fewer
// at the ends of a video and where pictures repeat each other.
type Job struct {
	Out    *pipeline.Frame
	Field  plane.Field
	Window []Picture
	Centre int
	Past   []Past // before the window, the latest first
	Noise  noise.Model
	Settings
}
