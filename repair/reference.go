package repair

import (
	"context"

	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
)

// form implements the per-sample work. The results of all implementations are identical to the
// reference in Go, bit for bit.
type form interface {
	// prepare returns the input of find for a luma plane. The caller releases it once.
	prepare(ctx context.Context, luma plane.Plane) (searched, error)

	// find returns the motion vectors from a picture to two others.
	find(ctx context.Context, from, before, after searched) ([2]motion.Field, error)

	// compensate sets rows y0..y1-1 of out to motion-compensated samples of in. The vectors are in
	// luma half-pels, and the planes are subsampled by the shifts.
	compensate(out, in plane.Plane, v motion.Field, shiftX, shiftY, y0, y1 int)

	// compare sets rows y0..y1-1 of out. Rows are rows of cells.
	compare(out cells, now, before, after plane.Plane, y0, y1 int)

	// idle frees buffers. The form stays usable.
	idle()
}

type searched interface{ Release() }

// The denoiser's motion search, tuned for typical noise.
var search = motion.Constants{Penalty: 2, RefinePenalty: 2, CoarseFrom: 1000}

const searchSigma = 4

// cells holds the comparison of three planes for each cell of 8x8 samples.
type cells struct {
	width, height int
	peak          []uint16 // the largest excess of a sample
	split         []uint16 // the largest difference between the neighbours
	sum           []uint32 // the sum of these differences, each limited to mostSplit levels
}

const (
	cellSide  = 8
	mostSplit = 24 // levels of 8 bits
)

func newCells(p plane.Plane) cells {
	w, h := (p.Width+cellSide-1)/cellSide, (p.Height+cellSide-1)/cellSide
	return cells{w, h, make([]uint16, w*h), make([]uint16, w*h), make([]uint32, w*h)}
}

// excess returns the distance of a sample from the range of the 3x3 samples around its position in
// both neighbours: positive above the range, negative below it, otherwise 0.
func excess(now, before, after *plane.Plane, x, y int) int {
	least, most := 1<<16, -1
	for j := max(y-1, 0); j <= min(y+1, now.Height-1); j++ {
		a, b := before.Row(j), after.Row(j)
		for i := max(x-1, 0); i <= min(x+1, now.Width-1); i++ {
			least = min(least, int(a[i]), int(b[i]))
			most = max(most, int(a[i]), int(b[i]))
		}
	}
	v := int(now.Pix[y*now.Width+x])
	return max(v-most, 0) + min(v-least, 0)
}

// plain is the reference implementation.
type plain struct{}

func (plain) idle() {}

type plainSearched struct{ motion.Frame }

func (plainSearched) Release() {}

func (plain) prepare(_ context.Context, luma plane.Plane) (searched, error) {
	const least = 16 // the denoiser's minimum side
	return plainSearched{motion.Prepare(luma.AtLeast(least, least), false)}, nil
}

func (plain) find(_ context.Context, from, before, after searched) ([2]motion.Field, error) {
	s, now := motion.NewSearch(search, searchSigma), from.(plainSearched).Frame
	field := func(other searched) motion.Field {
		to := other.(plainSearched).Frame
		return s.Refine(now.Levels[0], to, s.Find(now, to))
	}
	return [2]motion.Field{field(before), field(after)}, nil
}

// taps interpolate at half-pel positions. They sum to 32.
var taps = [6]int{1, -5, 20, 20, -5, 1}

func (plain) compensate(out, in plane.Plane, v motion.Field, shiftX, shiftY, y0, y1 int) {
	between := func(at func(i int) int) int {
		sum := 16
		for i, tap := range taps {
			sum += tap * at(i-2)
		}
		return min(max(sum>>5, 0), in.Max())
	}
	for y := y0; y < y1; y++ {
		row := out.Row(y)
		for x := range row {
			phase, dx, dy := v.Of(x<<shiftX, y<<shiftY).Scaled(shiftX, shiftY).Phase()
			across := func(y int) int {
				if phase&1 == 0 {
					return in.At(x+dx, y)
				}
				return between(func(i int) int { return in.At(x+dx+i, y) })
			}
			if phase&2 == 0 {
				row[x] = uint16(across(y + dy))
			} else {
				row[x] = uint16(between(func(i int) int { return across(y + dy + i) }))
			}
		}
	}
}

func (plain) compare(out cells, now, before, after plane.Plane, y0, y1 int) {
	for cy := y0; cy < y1; cy++ {
		for cx := range out.width {
			var peak, split, sum int
			for y := cy * cellSide; y < min((cy+1)*cellSide, now.Height); y++ {
				for x := cx * cellSide; x < min((cx+1)*cellSide, now.Width); x++ {
					e := excess(&now, &before, &after, x, y)
					d := int(before.Row(y)[x]) - int(after.Row(y)[x])
					d = max(d, -d)
					peak, split, sum = max(peak, e, -e), max(split, d), sum+min(d, mostSplit*now.Unit())
				}
			}
			i := cy*out.width + cx
			out.peak[i], out.split[i], out.sum[i] = uint16(peak), uint16(split), uint32(sum)
		}
	}
}
