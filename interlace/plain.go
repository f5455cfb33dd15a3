package interlace

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Plain is the engine in Go: slow, and what the others are tested against.
type Plain struct{}

// Lines are the rows of a field, of each component.
type Lines struct {
	Planes []plane.Plane
	Bottom bool // they are rows 1, 3, 5, ... of the frame
}

// Retire does nothing.
func (*Lines) Retire() {}

// Release does nothing.
func (*Lines) Release() {}

// LinesOf copies the rows of a field.
func LinesOf(f *pipeline.Frame, field plane.Field) *Lines {
	l := &Lines{Bottom: field == plane.Bottom}
	for _, c := range ComponentsOf(f, field) {
		p := plane.New(c.Width, c.Height, c.Depth)
		for y := range p.Height {
			c.Read(p.Row(y), 0, y)
		}
		l.Planes = append(l.Planes, p)
	}
	return l
}

// Prepare copies the samples.
func (Plain) Prepare(_ context.Context, f *pipeline.Frame, field plane.Field) (Field, error) {
	return LinesOf(f, field), nil
}

// Fill calls Reference.
func (Plain) Fill(_ context.Context, j Job) (Wait, error) {
	var window [2*Reach + 1]*Lines
	for i, f := range j.Window {
		window[i], _ = f.(*Lines)
	}
	for i, c := range ComponentsOf(j.Out, plane.Whole) {
		p := Reference(window, i, c.Height)
		for y := range p.Height {
			c.Write(p.Row(y), y)
		}
	}
	return nil, nil
}

// Depth returns 0.
func (Plain) Depth() int { return 0 }

// Idle does nothing.
func (Plain) Idle() {}

// The weights of Weston's filter, in 1/256: of the field's own rows around a missing one, which
// give its low frequencies, and of the rows of both neighbours around its place, which give the
// high ones.
var (
	Low  = [4]int{-7, 135, 135, -7}
	High = [5]int{8, -30, 44, -30, 8}
)

// Reference returns a component of the picture of a field, with so many rows.
func Reference(window [2*Reach + 1]*Lines, component, height int) plane.Plane {
	now, before, after := window[Reach], window[Reach-1], window[Reach+1]
	if before == nil {
		before = after
	}
	if after == nil {
		after = before
	}
	own := now.Planes[component]
	out := plane.New(own.Width, height, own.Depth)
	parity := 0
	if now.Bottom && height > 1 {
		parity = 1
	}
	for y := range height {
		row := out.Row(y)
		if y&1 == parity {
			copy(row, own.Row(y/2))
			continue
		}
		a, b := before.Planes[component], after.Planes[component]
		for x := range row {
			sum := 128
			for i, w := range Low {
				sum += w * own.At(x, y/2-parity-1+i)
			}
			for i, w := range High {
				sum += w * (a.At(x, y/2-2+i) + b.At(x, y/2-2+i))
			}
			row[x] = uint16(min(max(sum>>8, 0), out.Max()))
		}
	}
	return out
}
