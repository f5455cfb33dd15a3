//go:build nolibav

package graph

import (
	"errors"

	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// ErrGraph is the error of every graph in a build without FFmpeg.
var ErrGraph = errors.New("no FFmpeg")

// Filter is a graph that is open, which never exists.
type Filter struct{ pipeline.Pass }

// Open refuses all graphs.
func Open(_ string, o Options) (*Filter, error) {
	return nil, hint.Says(o.Name+" is a filter of FFmpeg, which this library is built without", "leave it to the program that has the frames", ErrGraph)
}

// Check takes all graphs: Open refuses them.
func Check(string) error { return nil }

// Local reports false.
func (*Filter) Local() bool { return false }

// Discard is empty.
func (*Filter) Discard() {}
