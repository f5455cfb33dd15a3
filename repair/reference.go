package repair

import (
	"context"

	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
)

// form does the work on all samples of a picture. The reference in Go defines the results of all
// forms.
type form interface {
	// prepare makes of luma what the search reads. It is released once.
	prepare(ctx context.Context, luma plane.Plane) (searched, error)

	// find returns the vectors from a picture to two others.
	find(ctx context.Context, from, before, after searched) ([2]motion.Field, error)

	// compensate sets rows y0..y1-1 of a plane to the samples of another where vectors lead. The
	// plane is subsampled by these shifts against that of the vectors.
	compensate(out, in plane.Plane, v motion.Field, shiftX, shiftY, y0, y1 int)

	// compare sets rows y0..y1-1 of cells.
	compare(out cells, now, before, after plane.Plane, y0, y1 int)

	// idle gives back what the form holds beside pictures. It may be used again.
	idle()
}

type searched interface{ Release() }

// The search: as the denoiser's, for noise that is usual.
var search = motion.Constants{Cell: 8, Penalty: 2, CoarseFrom: 1000}

const searchSigma = 4

// cells are the results of comparing three planes, for each square of 8 by 8 samples.
type cells struct {
	width, height int
	peak          []uint16 // the largest excess of a sample
	split         []uint16 // the largest difference of the neighbours
	sum           []uint32 // of the neighbours' differences, each of 24 levels at the most
}

const (
	cellSide  = 8
	mostSplit = 24 // levels that a sample adds to the sum
)

func newCells(p plane.Plane) cells {
	w, h := (p.Width+cellSide-1)/cellSide, (p.Height+cellSide-1)/cellSide
	return cells{w, h, make([]uint16, w*h), make([]uint16, w*h), make([]uint32, w*h)}
}

// excess is by how much a sample exceeds all those within one sample of it in both neighbours,
// negative if it falls below them, or 0.
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

// plain is the reference.
type plain struct{}

func (plain) idle() {}

type plainSearched struct{ motion.Frame }

func (plainSearched) Release() {}

func (plain) prepare(_ context.Context, luma plane.Plane) (searched, error) {
	const least = 16 // as the denoiser has it
	return plainSearched{motion.Prepare(luma.AtLeast(least, least), false)}, nil
}

func (plain) find(_ context.Context, from, before, after searched) ([2]motion.Field, error) {
	s := motion.NewSearch(search, searchSigma)
	a := from.(plainSearched).Frame
	return [2]motion.Field{s.Find(a, before.(plainSearched).Frame), s.Find(a, after.(plainSearched).Frame)}, nil
}

// taps interpolate half way between the middle two samples. Their sum is 32.
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
