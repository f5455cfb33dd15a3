// Package deflicker removes flicker of old film, mains lamps and exposure control. The flicker may
// affect the whole picture, vary across it, or differ between dark and light tones.
//
// The change of brightness between consecutive pictures is measured on thumbnails, in blocks that
// are tracked by motion search. Blocks agree on a change of light but differ where objects move.
// The changes of several frames form a curve, and the filter moves each picture to the local trend
// of the curve. Cuts and changes too large for flicker end a curve. A curve that is straight, bends
// once or has a short flash shows no flicker, so the pictures stay unchanged. Fades are straight
// enough to stay, because corrections are factors.
//
// Sums of floating-point numbers have a fixed order, and no function is used whose last bit depends
// on the processor. Results are therefore identical on all processors, with any number of threads.
package deflicker

import (
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Stage is the filter and its option.
type Stage struct{ On bool }

var filter = &kernels.FilterType{Name: "deflicker", Place: kernels.PlaceDeflicker, Zero: Stage{}, Options: []kernels.Option{{
	Name: "deflicker", Title: "Deflicker", Kind: kernels.Switch, Help: "steady the brightness: old film, lamps",
	Binding: kernels.BindSwitch(func(s *Stage) *bool { return &s.On }),
}}}

func init() { kernels.Register(filter) }

// Filter implements kernels.Stage.
func (Stage) Filter() *kernels.FilterType { return filter }

// Takes implements kernels.Stage. Frames keep their layout, so it accepts only layouts that all
// main filters accept.
func (Stage) Takes(l pipeline.Layout) bool {
	return l.Valid() && l != pipeline.NV16 && l != pipeline.NV24
}

// Identity implements kernels.Stage.
func (s Stage) Identity() bool { return !s.On }

// Window implements kernels.Stage.
func (Stage) Window() pipeline.Window { return pipeline.Window{Before: ahead, After: ahead} }

// PixelMemory returns the bytes per pixel of a picture with 8 bits that the filter keeps, in 4:4:4:
// the frames that wait, and one in work.
func (Stage) PixelMemory() int { return 3 * (ahead + 1) }

// OnHost implements kernels.OnHost.
func (Stage) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	if in.Trial { // only samples change, and a trial discards them
		return pipeline.Pass{}, nil
	}
	return NewFilter(pool, in.Threads), nil
}
