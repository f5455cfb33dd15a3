package interlace

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Reach is the number of fields before and after its own that a picture depends on.
const Reach = 4

// frames is the number of frames on each side that contain the Reach fields around a frame.
const frames = (Reach + 1) / 2

// Engine makes pictures from fields, on the CPU or on a GPU. Only one goroutine may use it. A
// picture depends only on the fields of its window.
type Engine interface {
	// Prepare converts a field to the engine's form. It is called once for each field, in order of
	// time. The engine may read the frame's samples until the field is released.
	Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (Field, error)

	// Fill starts to write a picture: the field's own rows, unchanged, and the missing rows. The
	// picture is complete when wait returns. Until then, the caller must keep j.Out and the fields
	// of the window. A nil wait means that the picture is already complete.
	Fill(ctx context.Context, j Job) (wait Wait, err error)

	// Depth returns the number of pictures that may be in progress at once. It is 0 if Fill returns
	// complete pictures.
	Depth() int

	// Idle frees the engine's memory except for fields. The engine may be used again.
	Idle()
}

// Wait blocks until the picture is complete. If the context ends first, it returns the cause.
type Wait func(ctx context.Context) error

// Field is a field in an engine's form, with its estimates. Its owner must release it once, and may
// retire it before.
type Field interface {
	// Retire promises that no new job will read the field.
	Retire()

	// Release must come after the last job that reads the field. When it returns, the engine no
	// longer reads the frame's samples.
	Release()
}

// Job describes a picture for Engine.Fill.
type Job struct {
	Out *pipeline.Frame // in the format of the fields' frames

	// Window contains the field to complete, at index Reach, and the fields around it in order of
	// time. All are the same size, and top and bottom fields alternate. Entries beyond the ends of
	// a run are nil, but at least one entry beside the middle is not.
	Window [2*Reach + 1]Field
}

// ComponentsOf returns the components of a field: Y, U and V, Y alone, or the RGB components in
// memory order, including alpha.
func ComponentsOf(f *pipeline.Frame, field plane.Field) (all []plane.Component) {
	for i := range max(plane.Components(f.Layout), f.Layout.Info().Samples) {
		all = append(all, plane.ComponentOf(f, field, i))
	}
	return all
}
