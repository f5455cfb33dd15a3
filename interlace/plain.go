package interlace

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Plain is the reference engine in Go. It is slow.
type Plain struct{}

// Lines holds the rows of a field for each component.
type Lines struct {
	Planes []plane.Plane
	Bottom bool // they are rows 1, 3, 5, ... of the frame

	heights        []int // of the frame's components
	shiftX, shiftY int   // log2 of the chroma subsampling
	searched       int   // index of the component for the motion search
	tables         *Tables

	estimates [Passes]*estimate // made on demand
}

// shifts returns the log2 of the subsampling of component i.
func (l *Lines) shifts(i int) (x, y int) {
	if i == 0 {
		return 0, 0
	}
	return l.shiftX, l.shiftY
}

// Searched returns the index of the component for the motion search: Y, or G in RGB.
func Searched(l pipeline.Layout) int {
	if l.Info().Samples > 1 {
		return 1
	}
	return 0
}

// Retire implements Field.
func (*Lines) Retire() {}

// Release implements Field.
func (*Lines) Release() {}

// LinesOf copies the rows of a field.
func LinesOf(f *pipeline.Frame, field plane.Field) *Lines {
	info := f.Layout.Info()
	l := &Lines{Bottom: field == plane.Bottom, shiftX: info.SubX, shiftY: info.SubY, searched: Searched(f.Layout), tables: Learned()}
	for _, c := range ComponentsOf(f, plane.Whole) {
		l.heights = append(l.heights, c.Height)
	}
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
	planes := Reference(&window)
	for i, c := range ComponentsOf(j.Out, plane.Whole) {
		p := planes[i]
		for y := range p.Height {
			c.Write(p.Row(y), y)
		}
	}
	return nil, nil
}

// Depth returns 0.
func (Plain) Depth() int { return 0 }

// Idle implements Engine.
func (Plain) Idle() {}

// Reference returns the components of the picture for the field in the middle of a window.
func Reference(window *[2*Reach + 1]*Lines) []plane.Plane { return at(window, Reach, Passes).planes }
