// Package deflicker steadies the brightness of a scene: flicker of old film, of lamps on mains and
// of exposure, over the whole picture, parts of it, or darks and lights apart.
//
// The change of brightness from each picture to the next is measured on small pictures of means,
// in blocks that are followed where they move. Blocks agree on a change of light, and not on what
// moves. Over some frames the changes make a curve, and the filter takes each picture to the smooth
// course of the curve around it. Cuts and leaps too large for flicker end a curve. A curve that is
// straight, bends once, or is off for a few frames of a flash has no flicker: pictures stay as they
// are. So do fades, since they are straight where samples are multiplied.
//
// The measurement adds up floating-point numbers in a fixed order, without functions whose last
// bit depends on the processor, so results are the same on all of them, with any number of threads.
package deflicker

import (
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Stage is the filter with its option.
type Stage struct{ On bool }

var filter = &kernels.Filter{Name: "deflicker", Place: kernels.PlaceDeflicker, Zero: Stage{}, Options: []kernels.Option{{
	Name: "deflicker", Title: "Deflicker", Kind: kernels.Switch, Help: "steady the brightness: old film, lamps",
	Binding: kernels.BindSwitch(func(s *Stage) *bool { return &s.On }),
}}}

func init() { kernels.Register(filter) }

// Filter implements kernels.Stage.
func (Stage) Filter() *kernels.Filter { return filter }

// Takes implements kernels.Stage: the layouts that all main filters take, since those of frames
// stay.
func (Stage) Takes(l pipeline.Layout) bool {
	return l.Valid() && l != pipeline.NV16 && l != pipeline.NV24
}

// Identity implements kernels.Stage.
func (s Stage) Identity() bool { return !s.On }

// Window implements kernels.Stage.
func (Stage) Window() pipeline.Window { return pipeline.Window{Before: ahead, After: ahead} }

// OnHost implements kernels.OnHost.
func (Stage) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	if in.Trial { // frames keep all but their samples
		return pipeline.Pass{}, nil
	}
	return NewFilter(pool, in.Threads), nil
}
