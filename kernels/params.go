package kernels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vidfilter/pipeline"
)

// MaxRadius is the largest radius that every path takes.
const MaxRadius = 15

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
	rangeNames    = []string{"lorentzian", "gaussian"}
	distanceNames = []string{"rgb", "channel", "lab", "luma"}
	borderNames   = []string{"reflect", "clamp", "zero", "skip"}
)

func (r RangeWeight) String() string { return name(rangeNames, uint8(r)) }
func (d Distance) String() string    { return name(distanceNames, uint8(d)) }
func (b Border) String() string      { return name(borderNames, uint8(b)) }

func name(names []string, i uint8) string {
	if int(i) >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

// RangeNames, DistanceNames and BorderNames list the values of each option in order, the default first.
func RangeNames() []string    { return slices.Clone(rangeNames) }
func DistanceNames() []string { return slices.Clone(distanceNames) }
func BorderNames() []string   { return slices.Clone(borderNames) }

// ParseRange, ParseDistance and ParseBorder read the names that String writes.
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

// Params are the options of the bilateral filter.
type Params struct {
	Radius   int         // pixels, 0 to MaxRadius; the window is (2r+1) x (2r+1)
	SigmaS   float64     // spatial sigma in pixels, > 0
	SigmaR   float64     // range sigma in levels of 8 bits (0-255), > 0
	Range    RangeWeight //
	Distance Distance    //
	Border   Border      //

	// Kernel names the one CUDA kernel of Variants that is to do it; "" leaves the choice to the program. See Variant.Adapt.
	Kernel string
}

// DefaultSigmaR is the range sigma when none is given: film grain and sensor noise go, edges stay.
const DefaultSigmaR = 20

// DefaultSigmaS returns the spatial sigma for a radius: (r+1)/2, so that a larger radius does more.
func DefaultSigmaS(radius int) float64 { return float64(radius+1) / 2 }

// DefaultParams returns the defaults for a radius.
func DefaultParams(radius int) Params {
	return Params{Radius: radius, SigmaS: DefaultSigmaS(radius), SigmaR: DefaultSigmaR}
}

// AllParams returns parameters of every radius, range weight, distance and border, with the default sigmas.
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

// Validate reports the first option that is out of range.
func (p Params) Validate() error {
	switch {
	case p.Radius < 0 || p.Radius > MaxRadius:
		return fmt.Errorf("radius %d is out of range 0 to %d", p.Radius, MaxRadius)
	case !(p.SigmaS > 0) || math.IsInf(p.SigmaS, 0):
		return fmt.Errorf("sigma-s %g must be a number above 0", p.SigmaS)
	case !(p.SigmaR > 0) || math.IsInf(p.SigmaR, 0):
		return fmt.Errorf("sigma-r %g must be a number above 0", p.SigmaR)
	case int(p.Range) >= len(rangeNames):
		return fmt.Errorf("unknown range weight %d", p.Range)
	case int(p.Distance) >= len(distanceNames):
		return fmt.Errorf("unknown distance %d", p.Distance)
	case int(p.Border) >= len(borderNames):
		return fmt.Errorf("unknown border %d", p.Border)
	}
	return nil
}

// Backend is a place where filters run: the CPU, or a GPU. Frames of a job live in memory that its backend
// allocates.
type Backend interface {
	pipeline.Allocator

	// Name is a short line for people: "cpu (avx512, 8 threads)".
	Name() string

	// Bilateral returns a filter for frames of any pipeline.Format, which may change in mid-stream. Results
	// lie in frames of pool. Interlaced frames are filtered field by field. The filter does not outlive
	// the backend.
	Bilateral(p Params, pool *pipeline.Pool) (pipeline.Filter, error)

	// Input returns the allocator for what decoders write, which lose a picture where they get no memory: it falls back on what is
	// slower to filter.
	Input() pipeline.Allocator

	// Held returns how many frames the backend's filters keep between calls: results must have room for as many beside those that
	// others hold, or the filter waits.
	Held() int

	// Close frees all that the backend holds. It may be called twice.
	Close() error
}
