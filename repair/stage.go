package repair

import (
	"runtime"
	"sync"
	"sync/atomic"

	"vidfilter/internal/isa"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Stage is the filter and its option.
type Stage struct{ Mode uint8 } // 0: off, 1: auto

var filter = &kernels.Filter{Name: "repair", Place: kernels.PlaceRepair, Zero: Stage{}, Options: []kernels.Option{{
	Name: "repair", Title: "Repair", Kind: kernels.Name, Names: []string{"off", "auto"}, Bare: "auto",
	Help:    "replace dirt, dropouts and lost lines of one frame",
	Binding: kernels.Bind(func(s *Stage) *uint8 { return &s.Mode }),
}}}

func init() { kernels.Register(filter) }

// Filter implements kernels.Stage.
func (Stage) Filter() *kernels.Filter { return filter }

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

// OnHost implements kernels.OnHost.
func (s Stage) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	if s.Identity() {
		return pipeline.Pass{}, nil
	}
	threads := in.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	each := onThreads(threads)
	return newFilter(newFast(isa.Fastest(), each), pool, each, in.Repaired), nil
}

// Reference returns the filter by its definition in Go: slow, to check others on small frames.
func Reference(pool *pipeline.Pool) pipeline.Filter {
	return newFilter(plain{}, pool, onThreads(1), nil)
}

// onThreads returns an each that runs on at most this number of goroutines.
func onThreads(threads int) each {
	return func(n int, do func(i int)) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range min(threads, n) {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					do(i)
				}
			})
		}
		wg.Wait()
	}
}
