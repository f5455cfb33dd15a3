package interlace

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Reach is how many fields before and after its own a picture may depend on.
const Reach = 4

// frames is how many frames have the fields before, or after, those of a frame that it reads.
const frames = (Reach + 1) / 2

// Engine makes pictures of fields in one way: on the CPU or on a GPU. It is for one goroutine. A
// picture depends on the fields of its window alone.
type Engine interface {
	// Prepare makes of a field what the engine reads of it, once for each field, in the order of
	// their times. The engine may read the frame's samples until the field is released.
	Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (Field, error)

	// Fill begins to write all rows of a picture: those of the field as they are, and those that it
	// lacks. The result is there when wait returns; out and the fields of the window stay until
	// then. A nil wait means that it is there already.
	Fill(ctx context.Context, j Job) (wait Wait, err error)

	// Depth returns how many pictures may be under way at once, 0 if Fill ends with the result.
	Depth() int

	// Idle gives back what the engine holds beside fields. It may be used again.
	Idle()
}

// Wait returns when a result is there, or when the context ends, with its cause.
type Wait func(ctx context.Context) error

// Field is a field as an engine keeps it, with what it has made of it. Its owner retires and
// releases it once.
type Field interface {
	// Retire says that only jobs that have begun read the field.
	Retire()

	// Release says that these jobs have ended. The engine does not read the frame's samples any
	// more when it returns.
	Release()
}

// Job is a picture to make.
type Job struct {
	Out *pipeline.Frame // of the format of the fields' frames

	// Window has the field in its middle, at Reach, those before it and those after it. They are of
	// one size and alternate between top and bottom. Beyond the ends of a run they are nil; one
	// beside the middle is not.
	Window [2*Reach + 1]Field
}

// ComponentsOf finds the components of a field: Y, U and V; Y alone; or those of RGB in their order
// in memory, alpha among them.
func ComponentsOf(f *pipeline.Frame, field plane.Field) (all []plane.Component) {
	if n := f.Layout.Info().Samples; n > 1 {
		first, every, rows, own := field.Rows(f.Height)
		p := f.Planes[0]
		for i := range n {
			all = append(all, plane.Component{
				Data: p.Data[first*p.Pitch+i:], Pitch: every * p.Pitch, Step: n, Depth: 8, Width: f.Width, Height: rows, Own: own,
			})
		}
		return all
	}
	for i := range plane.Components(f.Layout) {
		all = append(all, plane.ComponentOf(f, field, i))
	}
	return all
}
