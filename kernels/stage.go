package kernels

import (
	"fmt"
	"slices"

	"vidfilter/pipeline"
)

// Stage is a filter with its options, before it has frames: a comparable value. A backend opens it
// if the stage has a form for its devices: OnCPU, OnHost or Planned.
type Stage interface {
	// Filter is the kind of the stage, the same for all its values.
	Filter() *FilterType

	// Takes reports whether the filter takes frames of a layout, on every device that it runs on.
	Takes(l pipeline.Layout) bool

	// Identity reports whether the filter makes no change.
	Identity() bool

	// Window is the frames that the filter reads around each frame. It does not depend on the
	// device.
	Window() pipeline.Window
}

// OnCPU is a stage with a form for the CPU's threads.
type OnCPU interface {
	Stage
	OnCPU(c *CPU, pool *pipeline.Pool) (pipeline.Filter, error)
}

// OnHost is a stage that filters frames in the host's memory by itself: every backend opens it.
type OnHost interface {
	Stage
	// OnHost returns the filter. Results are frames of pool, or lie in memory that the filter has
	// of its own.
	OnHost(pool *pipeline.Pool, in Setting) (pipeline.Filter, error)
}

// Setting is the context of a stage on the host in its job. The zero value will do.
type Setting struct {
	Takes       func(pipeline.Layout) bool // the layouts that results may have; nil: all
	ForDevice   bool                       // a device reads the results, from the pool's memory
	Later       int                        // results that the filters behind may keep
	Progressive bool                       // no frame is interlaced, by the file or the user's word
	MaxPixels   int64                      // of a picture; 0: no limit
	Threads     int                        // 0: as many as the program may use
	Lost        func(name string)          // called with a property that is lost with frames at the end; may be nil
	Repaired    func(patches int)          // called for each frame with replaced patches; may be nil
	Trial       bool                       // the samples of results are of no use
}

// Keeper is a stage that keeps much more than a job without it.
type Keeper interface {
	Stage
	PixelMemory() int // bytes per pixel of a picture with 8 bits
}

// Undivided is a stage that, unless it is inactive, may need all frames of a video in order.
type Undivided interface {
	Stage
	Whole() string // why, with the option's name; "": parts will do
}

// Alias is a stage that may stand for another stage. Selection.Stages replaces it with Means().
type Alias interface {
	Stage
	Means() Stage
}

// Planned is a stage with CUDA kernels that filter each frame by itself: see Form.
type Planned interface {
	OnCPU

	words(in picture, t transform, depth int) picture // the filter's definition

	does(v Variant) bool                  // a variant of the filter's forms supports the options
	supported(v Variant) string           // the options that it supports
	adapted(v Variant, p Planned) Planned // the supported options closest to p, of any filter
	asked() string                        // the options that variants differ in
}

// Varied is a stage whose options decide which CUDA kernels it needs.
type Varied interface {
	Every() []Stage // stages that need every kernel of the filter
	Near() []Stage  // those within reach of a slider that need other kernels
}

// FilterType is a kind of filter: a main filter (a job has one), or an extra one, which is active
// unless its options make no change.
type FilterType struct {
	Name    string
	Place   Place
	Zero    Stage    // of its type
	Options []Option // in the order of the table

	// Check reports options that are in range, and exclude each other; may be nil.
	Check func(Stage) error

	index   int
	initial Stage
}

// Place is the order of filters in a job.
type Place int

// The places. All filters of PlaceMain are alternatives.
const (
	PlaceBefore Place = iota
	PlaceCrop
	PlaceRepair
	PlaceDeinterlace
	PlaceChromaShift
	PlaceDeflicker
	PlaceMain
	PlaceSharpen
	PlaceDeband
	PlaceScale
	PlaceRate
	PlaceAfter
)

// Live reports whether a place is for the main filter, or for filters that make one result of each
// frame by itself: they filter pictures as they are taken.
func (p Place) Live() bool {
	return p == PlaceMain || p == PlaceSharpen || p == PlaceDeband || p.Frames()
}

// Frames reports whether filters of a place choose the part of the picture and its size.
func (p Place) Frames() bool { return p == PlaceCrop || p == PlaceScale }

// filters are all kinds, in the order in which they were registered.
var filters = register(bilateralFilter, recursiveFilter, denoiseFilter)

// DefaultFilter is the main filter of a job by default.
var DefaultFilter = denoiseFilter

func register(all ...*FilterType) (list []*FilterType) {
	for _, f := range all {
		list = f.joining(list)
	}
	return list
}

// Register adds a filter, before the table of options is first used: in an init function.
func Register(f *FilterType) { filters = f.joining(filters) }

func (f *FilterType) joining(list []*FilterType) []*FilterType {
	f.index = len(list)
	if f.index == len(Selection{}.stages) {
		panic("kernels: no room for the filter " + f.Name)
	}
	f.initial = f.fill(f.Zero, func(_ Option, d Domain) bool { return d.Auto == nil })
	return append(list, f)
}

func (f *FilterType) String() string { return f.Name }

// New returns the stage with all options at their defaults; derived ones are 0.
func (f *FilterType) New() Stage { return f.initial }

// Filters returns the main filters.
func Filters() []*FilterType {
	return slices.DeleteFunc(slices.Clone(filters), func(f *FilterType) bool { return f.Place != PlaceMain })
}

// extras returns the filters around the main one, in their order.
func extras() []*FilterType {
	all := slices.DeleteFunc(slices.Clone(filters), func(f *FilterType) bool { return f.Place == PlaceMain })
	slices.SortStableFunc(all, func(a, b *FilterType) int { return int(a.Place - b.Place) })
	return all
}

// FilterNames lists the main filters in order.
func FilterNames() (all []string) {
	for _, f := range Filters() {
		all = append(all, f.Name)
	}
	return all
}

func name(names []string, i uint8) string {
	if int(i) >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

// Backend runs filters on the CPU or a GPU. Frames of a job live in memory that its backend
// allocates.
type Backend interface {
	pipeline.Allocator

	// Name is a short description: "cpu (avx512, 8 threads)".
	Name() string

	// Filter returns a filter for frames of any layout that s takes, which may change in
	// mid-stream. Results are frames of pool. Interlaced frames are filtered field by field. The
	// filter must not outlive the backend. A stage without a form for the backend is an error.
	Filter(s Stage, pool *pipeline.Pool) (pipeline.Filter, error)

	// Input returns the allocator for decoders' output. Decoders lose a picture when an allocation
	// fails, so it falls back on memory that is slower to filter.
	Input() pipeline.Allocator

	// Held returns the number of results that the filter for s keeps between calls. The pool of
	// results must have room for them beside those held by others, or the filter waits.
	Held(s Stage) int

	// Close frees all resources of the backend. It may be called twice.
	Close() error
}
