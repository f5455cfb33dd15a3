package kernels

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"vidfilter/pipeline"
)

// MaxRadius is the largest radius that every path takes.
const MaxRadius = 15

// Filter is what is done to a picture.
type Filter uint8

// The filters.
const (
	Bilateral Filter = iota // a weighted mean over a window
	Recursive               // the recursive edge-aware Gaussian of 002, whose cost does not grow with sigma; see recursive.go
)

// RangeWeight is the function R of the colour distance D.
type RangeWeight uint8

// The range weights; both fall with D over sigma_r.
const (
	Lorentzian RangeWeight = iota // 1 / (1 + D^2 / (2 sigma_r^2)), Akers (001)
	Gaussian                      // exp(-D^2 / (2 sigma_r^2))
)

// Distance is the colour distance D between two pixels.
type Distance uint8

// The distances.
const (
	RGB     Distance = iota // joint: D^2 = dR^2 + dG^2 + dB^2
	Channel                 // each channel weighted by its own difference (000, 004)
	Lab                     // Euclidean in CIE-Lab (000, section 2.3.1)
	Luma                    // difference of luma by the frame's matrix
)

// Border says what lies outside the frame.
type Border uint8

// The borders.
const (
	Reflect Border = iota // 101: dcb|abcd|cba
	Clamp                 // aaa|abcd|ddd
	Zero                  // black (001)
	Skip                  // pixels whose window leaves the frame stay as they are (000)
)

var (
	filterNames   = []string{"bilateral", "recursive"}
	rangeNames    = []string{"lorentzian", "gaussian"}
	distanceNames = []string{"rgb", "channel", "lab", "luma"}
	borderNames   = []string{"reflect", "clamp", "zero", "skip"}
)

func (f Filter) String() string      { return name(filterNames, uint8(f)) }
func (r RangeWeight) String() string { return name(rangeNames, uint8(r)) }
func (d Distance) String() string    { return name(distanceNames, uint8(d)) }
func (b Border) String() string      { return name(borderNames, uint8(b)) }

func name(names []string, i uint8) string {
	if int(i) >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

// FilterNames, RangeNames, DistanceNames and BorderNames list the values of each option in order, the default first.
func FilterNames() []string   { return slices.Clone(filterNames) }
func RangeNames() []string    { return slices.Clone(rangeNames) }
func DistanceNames() []string { return slices.Clone(distanceNames) }
func BorderNames() []string   { return slices.Clone(borderNames) }

// ParseFilter, ParseRange, ParseDistance and ParseBorder read the names that String writes.
func ParseFilter(s string) (Filter, error) {
	i, err := parse("filter", filterNames, s)
	return Filter(i), err
}

func ParseRange(s string) (RangeWeight, error) {
	i, err := parse("range weight", rangeNames, s)
	return RangeWeight(i), err
}

func ParseDistance(s string) (Distance, error) {
	i, err := parse("distance", distanceNames, s)
	return Distance(i), err
}

func ParseBorder(s string) (Border, error) {
	i, err := parse("border", borderNames, s)
	return Border(i), err
}

func parse(what string, names []string, s string) (int, error) {
	if i := slices.Index(names, s); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("unknown %s %q: choose from %s", what, s, strings.Join(names, ", "))
}

// Params are the options of a filter. Those that only the other one has are not looked at.
type Params struct {
	Filter Filter

	SigmaS float64 // spatial sigma in pixels, > 0; of the recursive filter within RecursiveSigma
	SigmaR float64 // range sigma in levels of 8 bits (0-255), the same

	// Of the bilateral filter.
	Radius   int // pixels, 0 to MaxRadius; the window is (2r+1) x (2r+1)
	Range    RangeWeight
	Distance Distance
	Border   Border

	// Of the recursive filter.
	Iterations int // times that rows and then columns are filtered, 1 to MaxIterations

	// Kernel names the one CUDA kernel of Variants that is to do it; "" leaves the choice to the program. See Variant.Adapt.
	Kernel string
}

// MaxIterations is the most that the recursive filter does: 3 suffice, as Gastal and Oliveira found and 002 repeats.
const MaxIterations = 3

// RecursiveSigma is the range of both sigmas of the recursive filter: at its ends nothing changes any more.
var RecursiveSigma = [2]float64{0.01, 10000}

// DefaultSigmaR is the range sigma when none is given: film grain and sensor noise go, edges stay.
const DefaultSigmaR = 20

// DefaultSigmaS returns the spatial sigma for a radius: (r+1)/2, so that a larger radius does more.
func DefaultSigmaS(radius int) float64 { return float64(radius+1) / 2 }

// The defaults of the recursive filter, whose range sigma is the bilateral's. Of samples/noisy.mp4 they make 34.3 dB and an SSIM of 0.926,
// beside 34.1 and 0.899 of the default bilateral and 31.0 and 0.796 of no filter. The 50 and 50 of 002's measurements make 28.3 dB: a
// painting, not less noise. More than 10 pixels gains nothing there, for noise itself makes distances.
const (
	DefaultRecursiveSigmaS = 10
	DefaultIterations      = 2
)

// DefaultParams returns the defaults of the bilateral filter for a radius.
func DefaultParams(radius int) Params { return Params{Radius: radius}.WithDefaults() }

// DefaultRecursive returns the defaults of the recursive filter.
func DefaultRecursive() Params { return Params{Filter: Recursive}.WithDefaults() }

// WithDefaults fills in what is 0 of sigmas and iterations by the filter's defaults.
func (p Params) WithDefaults() Params {
	sigmaS := DefaultSigmaS(max(p.Radius, 0))
	if p.Filter == Recursive {
		sigmaS = DefaultRecursiveSigmaS
		p.Iterations = cmp.Or(p.Iterations, DefaultIterations)
	}
	p.SigmaS, p.SigmaR = cmp.Or(p.SigmaS, sigmaS), cmp.Or(p.SigmaR, DefaultSigmaR)
	return p
}

// AllParams returns parameters of the bilateral filter of every radius, range weight, distance and border, with the default sigmas.
func AllParams() (all []Params) {
	for radius := range MaxRadius + 1 {
		for r := range rangeNames {
			for d := range distanceNames {
				for b := range borderNames {
					p := DefaultParams(radius)
					p.Range, p.Distance, p.Border = RangeWeight(r), Distance(d), Border(b)
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// Validate reports the first option of the filter that is out of range.
func (p Params) Validate() error {
	switch {
	case int(p.Filter) >= len(filterNames):
		return fmt.Errorf("unknown filter %d", p.Filter)
	case !(p.SigmaS > 0) || math.IsInf(p.SigmaS, 0):
		return fmt.Errorf("sigma-s %g must be a number above 0", p.SigmaS)
	case !(p.SigmaR > 0) || math.IsInf(p.SigmaR, 0):
		return fmt.Errorf("sigma-r %g must be a number above 0", p.SigmaR)
	case p.Filter == Recursive:
		return p.validateRecursive()
	}
	return p.validateBilateral()
}

func (p Params) validateBilateral() error {
	switch {
	case p.Radius < 0 || p.Radius > MaxRadius:
		return fmt.Errorf("radius %d is out of range 0 to %d", p.Radius, MaxRadius)
	case int(p.Range) >= len(rangeNames):
		return fmt.Errorf("unknown range weight %d", p.Range)
	case int(p.Distance) >= len(distanceNames):
		return fmt.Errorf("unknown distance %d", p.Distance)
	case int(p.Border) >= len(borderNames):
		return fmt.Errorf("unknown border %d", p.Border)
	}
	return nil
}

func (p Params) validateRecursive() error {
	low, high := RecursiveSigma[0], RecursiveSigma[1]
	switch {
	case p.SigmaS < low || p.SigmaS > high:
		return fmt.Errorf("sigma-s %g of the recursive filter is out of range %g to %g", p.SigmaS, low, high)
	case p.SigmaR < low || p.SigmaR > high:
		return fmt.Errorf("sigma-r %g of the recursive filter is out of range %g to %g", p.SigmaR, low, high)
	case p.Iterations < 1 || p.Iterations > MaxIterations:
		return fmt.Errorf("%d iterations are out of range 1 to %d", p.Iterations, MaxIterations)
	}
	return nil
}

// Backend is a place where filters run: the CPU, or a GPU. Frames of a job live in memory that its backend
// allocates.
type Backend interface {
	pipeline.Allocator

	// Name is a short line for people: "cpu (avx512, 8 threads)".
	Name() string

	// Filter returns a filter for frames of any pipeline.Format, which may change in mid-stream. Results
	// lie in frames of pool. Interlaced frames are filtered field by field. The filter does not outlive
	// the backend.
	Filter(p Params, pool *pipeline.Pool) (pipeline.Filter, error)

	// Input returns the allocator for what decoders write, which lose a picture where they get no memory: it falls back on what is
	// slower to filter.
	Input() pipeline.Allocator

	// Held returns how many frames the backend's filters keep between calls: results must have room for as many beside those that
	// others hold, or the filter waits.
	Held() int

	// Close frees all that the backend holds. It may be called twice.
	Close() error
}
