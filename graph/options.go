package graph

import "vidfilter/pipeline"

// Options of Open. The zero value will do.
type Options struct {
	// Name is the option that the graph is from, for errors.
	Name string
	// Takes reports which layouts the next stage takes; nil: all. Results have the one of them that
	// keeps most of the last filter's output.
	Takes func(pipeline.Layout) bool
	// Pool has the memory of results, which are copied into it; nil: they stay where FFmpeg made
	// them, without a copy.
	Pool *pipeline.Pool
	// MaxPixels is the largest picture between the filters and at their end; pictures of more than
	// 8 bits count twice. 0: no limit.
	MaxPixels int64
	// Later is how many results the stages behind may keep.
	Later int
	// Threads run the filters; 0: as many as the program may use.
	Threads int
	// Lost is called at the end with the name of a property that no frame has; may be nil.
	Lost func(name string)
	// Trial leaves out the work of filters that change samples alone: results have all but these.
	Trial bool

	memory int64 // bytes that frames in the graph may take; 0: half of the program's limit
}
