package repair

import (
	"vidfilter/denoise/plane"
	"vidfilter/internal/isa"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Stage is the filter and its option.
type Stage struct{ Mode uint8 } // 0: off, 1: auto

var filter = &kernels.FilterType{Name: "repair", Place: kernels.PlaceRepair, Zero: Stage{}, Options: []kernels.Option{{
	Name: "repair", Title: "Repair", Kind: kernels.Name, Names: []string{"off", "auto"}, Bare: "auto",
	Help:    "replace dirt, dropouts and lost lines of one frame",
	Binding: kernels.Bind(func(s *Stage) *uint8 { return &s.Mode }),
}}}

func init() { kernels.Register(filter) }

// Filter implements kernels.Stage.
func (Stage) Filter() *kernels.FilterType { return filter }

// Takes implements kernels.Stage.
func (Stage) Takes(l pipeline.Layout) bool { return l.Valid() }

// Identity implements kernels.Stage.
func (s Stage) Identity() bool { return s.Mode == 0 }

// Window implements kernels.Stage.
func (s Stage) Window() pipeline.Window {
	if s.Identity() {
		return pipeline.Window{}
	}
	return pipeline.Window{Before: around, After: around}
}

// PixelMemory returns the bytes per pixel of a picture with 8 bits that the filter keeps, in 4:4:4:
// frames, their planes with two bytes per sample, and the comparisons of four of them.
func (Stage) PixelMemory() int { return 165 }

// OnHost implements kernels.OnHost.
func (s Stage) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	if s.Identity() {
		return pipeline.Pass{}, nil
	}
	each := onThreads(in.Threads)
	return newFilter(newFast(isa.Fastest(), each), pool, each, in.Repaired), nil
}

// Reference returns the filter by its definition in Go: slow, to check others on small frames.
func Reference(pool *pipeline.Pool) pipeline.Filter {
	return newFilter(plain{}, pool, onThreads(1), nil)
}

// onThreads returns an each that runs on at most this number of goroutines; 0: on all cores.
func onThreads(threads int) each {
	return func(n int, do func(i int)) { plane.Each(threads, n, do) }
}
