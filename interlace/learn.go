package interlace

import "vidfilter/denoise/plane"

// Sample is a missing luma sample that a pass makes from a class's weights.
type Sample struct {
	X, Y   int
	Class  int
	Base   int          // the sum of the samples above and below
	Around [Weights]int // twice the samples around it, or sums of two, less Base
}

// LumaLines returns every second row of a picture, as a field that is completed with tables t.
func LumaLines(picture plane.Plane, bottom bool, t *Tables) *Lines {
	l := &Lines{Bottom: bottom, heights: []int{picture.Height}, tables: t}
	first := l.parity(0)
	p := plane.New(picture.Width, (picture.Height+1-first)/2, picture.Depth)
	for y := range p.Height {
		copy(p.Row(y), picture.Row(2*y+first))
	}
	l.Planes = []plane.Plane{p}
	return l
}

// Estimate returns the picture of the field in the middle of a window after some passes. The caller
// must not change it.
func Estimate(window *[2*Reach + 1]*Lines, passes int) plane.Plane {
	return at(window, Reach, passes).planes[0]
}

// Samples calls visit for the samples that a pass makes from weights for the field in the middle of
// a window.
func Samples(window *[2*Reach + 1]*Lines, pass int, visit func(Sample)) {
	b := blenderOf(window, Reach, pass)
	b.visit = visit
	b.component(0)
}
