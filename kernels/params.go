package kernels

import (
	"fmt"
	"slices"

	"vidfilter/denoise"
	"vidfilter/pipeline"
)

// Filter is the kind of filter.
type Filter uint8

// The filters.
const (
	Bilateral Filter = iota // a weighted mean over a window
	// recursive edge-aware Gaussian (002), at a cost independent of sigma; see recursive.go
	Recursive
	// spatio-temporal denoiser; see package denoise
	Denoise

	DefaultFilter = Denoise
)

// Quality is a tier of the denoiser.
type Quality uint8

// The tiers.
const (
	AutoQuality Quality = iota // good on a GPU, fast on the CPU
	Fast
	Good
	Best
)

// RangeWeight is the function R of the colour distance D of two pixels: D^2 = dR^2 + dG^2 + dB^2.
type RangeWeight uint8

// The range weights; both fall with D / sigma_r.
const (
	Lorentzian RangeWeight = iota // 1 / (1 + D^2 / (2 sigma_r^2)), Akers (001)
	Gaussian                      // exp(-D^2 / (2 sigma_r^2))
)

// Border is the treatment of pixels outside the frame.
type Border uint8

// The borders.
const (
	Reflect Border = iota // 101: dcb|abcd|cba
	Clamp                 // aaa|abcd|ddd
)

var (
	filterNames  = []string{"bilateral", "recursive", "denoise"}
	qualityNames = []string{"auto", "fast", "good", "best"}
	rangeNames   = []string{"lorentzian", "gaussian"}
	borderNames  = []string{"reflect", "clamp"}
)

func (f Filter) String() string      { return name(filterNames, uint8(f)) }
func (q Quality) String() string     { return name(qualityNames, uint8(q)) }
func (r RangeWeight) String() string { return name(rangeNames, uint8(r)) }
func (b Border) String() string      { return name(borderNames, uint8(b)) }

func name(names []string, i uint8) string {
	if int(i) >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

// FilterNames lists the filters in order.
func FilterNames() []string { return slices.Clone(filterNames) }

// Takes reports whether a backend's filter for p takes frames of a layout, on every device.
func (p Params) Takes(l pipeline.Layout) bool {
	return hasKernels(l) || p.Filter == Denoise && denoise.Takes(l)
}

// Identity reports whether p changes nothing.
func (p Params) Identity() bool { return p.Filter == Bilateral && p.Radius == 0 }

// Backend runs filters on the CPU or a GPU. Frames of a job live in memory that its backend
// allocates.
type Backend interface {
	pipeline.Allocator

	// Name is a short description: "cpu (avx512, 8 threads)".
	Name() string

	// Filter returns a filter for frames of any layout that p takes, which may change in
	// mid-stream. Results are frames of pool. Interlaced frames are filtered field by field. The
	// filter must not outlive the backend.
	Filter(p Params, pool *pipeline.Pool) (pipeline.Filter, error)

	// Input returns the allocator for decoders' output. Decoders lose a picture when an allocation
	// fails, so it falls back on memory that is slower to filter.
	Input() pipeline.Allocator

	// Held returns the number of results that the filter for p keeps between calls. The pool of
	// results must have room for them beside those held by others, or the filter waits.
	Held(p Params) int

	// Close frees all resources of the backend. It may be called twice.
	Close() error
}
