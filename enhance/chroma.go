package enhance

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"vidfilter/denoise/plane"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// ChromaShift is a value of --chroma-shift. The zero value shifts by 0.
type ChromaShift struct {
	Auto bool    // not measured yet
	X, Y float64 // shift to the right and down, in luma samples of the picture as shown
}

const (
	shiftHint = "give auto, or how far chroma moves right and down in pixels: -4,-2 or 1.5,0"
	mostShift = 32
)

// ParseChromaShift parses auto or X,Y. Its errors have hints.
func ParseChromaShift(s string) (c ChromaShift, err error) {
	if s == "auto" {
		return ChromaShift{Auto: true}, nil
	}
	fields := strings.Split(s, ",")
	if len(fields) != 2 {
		return ChromaShift{}, hint.Errorf(shiftHint, "not X,Y")
	}
	for i, to := range []*float64{&c.X, &c.Y} {
		if *to, err = strconv.ParseFloat(fields[i], 64); err != nil || !(math.Abs(*to) <= mostShift) {
			return ChromaShift{}, hint.Errorf(shiftHint, "%q is not a number of pixels from -%d to %d", fields[i], mostShift, mostShift)
		}
	}
	return c, nil
}

// String returns the value in the syntax of the option.
func (c ChromaShift) String() string {
	number := func(x float64) string { return strconv.FormatFloat(x+0, 'f', -1, 64) } // no -0
	return number(c.X) + "," + number(c.Y)
}

// stored converts a shift of the picture as shown to the orientation of the stored picture.
func (c ChromaShift) stored(f Facts) ChromaShift {
	sideways, mirrorX, mirrorY := f.orientation()
	if mirrorX {
		c.X = -c.X
	}
	if mirrorY {
		c.Y = -c.Y
	}
	if sideways {
		c.X, c.Y = c.Y, c.X
	}
	return c
}

// shown converts a shift of the stored picture to the orientation of the picture as shown.
func (c ChromaShift) shown(f Facts) ChromaShift {
	sideways, mirrorX, mirrorY := f.orientation()
	if sideways {
		c.X, c.Y = c.Y, c.X
	}
	if mirrorX {
		c.X = -c.X
	}
	if mirrorY {
		c.Y = -c.Y
	}
	return c
}

// hasChroma returns an error with a hint for layouts without chroma planes.
func hasChroma(l pipeline.Layout) error {
	switch info := l.Info(); {
	case info.RGB:
		return hint.Errorf("leave --chroma-shift out",
			"--chroma-shift: RGB has no planes of chroma")
	case info.Gray():
		return hint.Errorf("leave --chroma-shift out", "--chroma-shift: a gray video has no chroma")
	}
	return nil
}

// The filter is a windowed sinc in steps of 1/64 sample, with weights that sum to 1<<weightBits.
const (
	lobes      = 4
	taps       = 2 * lobes
	fractions  = 64
	weightBits = 14
	between    = 6 // fractional bits kept between the passes
)

// resampler is a filter that shifts a line.
type resampler struct {
	first   int // position of the first tap, relative to the result
	weights [taps]int
}

// newResampler returns a filter that shifts samples to the right by distance.
func newResampler(distance float64) (r resampler) {
	at := int(math.Round(-distance * fractions))
	whole := at >> 6
	r.first = whole - (lobes - 1)
	x := float64(at-whole<<6) / fractions
	var exact [taps]float64
	sum := 0.0
	for i := range exact {
		d := float64(i-(lobes-1)) - x
		exact[i] = sinc(d) * sinc(d/lobes)
		sum += exact[i]
	}
	rest, most := 1<<weightBits, 0
	for i, w := range exact {
		r.weights[i] = int(math.Round(w / sum * (1 << weightBits)))
		rest -= r.weights[i]
		if r.weights[i] > r.weights[most] {
			most = i
		}
	}
	r.weights[most] += rest
	return r
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// Shift copies luma from in to out, and shifts chroma with replicated edges. Both frames must have
// the same format. Fields of interlaced frames are shifted separately. threads may be 0 for
// GOMAXPROCS, and does not affect the result. Shift returns an error for layouts without chroma.
func (c ChromaShift) Shift(out, in *pipeline.Frame, threads int) error {
	if err := hasChroma(in.Layout); err != nil {
		return err
	}
	c = c.stored(FactsOf(in, false))
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	for y := range in.Height {
		copy(out.Row(0, y), in.Row(0, y))
	}
	subX, subY := in.ChromaShift()
	fields := plane.Fields(in)
	across := newResampler(c.X / float64(int(1)<<subX))
	down := newResampler(c.Y / float64(int(len(fields))<<subY))
	var done sync.WaitGroup
	for _, field := range fields {
		for i := 1; i <= 2; i++ {
			from, to := plane.ComponentOf(in, field, i), plane.ComponentOf(out, field, i)
			if !to.Own {
				continue
			}
			for part := range threads {
				y0, y1 := bounds(part, threads, to.Height)
				done.Go(func() { move(to, from, across, down, y0, y1) })
			}
		}
	}
	done.Wait()
	return nil
}

// move writes rows y0..y1-1 of a component.
func move(to, from plane.Component, across, down resampler, y0, y1 int) {
	row, result := make([]uint16, from.Width), make([]uint16, from.Width)
	sums := make([]int, from.Width)
	wide := make([]int, from.Width+taps) // sums with replicated edges
	most := 1<<from.Depth - 1
	for y := y0; y < y1; y++ {
		clear(sums)
		for k, weight := range down.weights {
			if weight == 0 {
				continue
			}
			from.Read(row, 0, min(max(y+down.first+k, 0), from.Height-1))
			for x, v := range row {
				sums[x] += weight * int(v)
			}
		}
		for x := range wide {
			at := min(max(x+across.first, 0), from.Width-1)
			wide[x] = (sums[at] + 1<<(weightBits-between-1)) >> (weightBits - between)
		}
		for x := range result {
			w := (*[taps]int)(wide[x:])
			sum := 0
			for k, weight := range across.weights {
				sum += weight * w[k]
			}
			const down = weightBits + between
			result[x] = uint16(min(max((sum+1<<(down-1))>>down, 0), most))
		}
		to.Write(result, y)
	}
}
