package motion

import "vidfilter/denoise/plane"

// Depth is the depth of the search's planes, for samples of any depth: finer ones find no better
// matches, since noise that is worth removing is coarser.
const Depth = 8

// Frame has the planes of a frame for the search, in samples of [Depth] bits.
type Frame struct {
	Levels []plane.Plane // the smoothed luma, and each next level half as large
	Half   HalfPels      // of the first level
}

// Prepare makes the planes of a frame from its luma. The coarser smoothing is for strong noise.
func Prepare(luma plane.Plane, coarse bool) Frame {
	f := Frame{Levels: []plane.Plane{Smooth(luma, coarse)}}
	for len(f.Levels) < Levels(luma.Width, luma.Height) {
		f.Levels = append(f.Levels, half(f.Levels[len(f.Levels)-1]))
	}
	f.Half = Between(f.Levels[0])
	return f
}

const (
	usualLevels  = 4   // reach 6<<3 pels, enough below 1080p
	largeLevel   = 100 // a level with this number of rows gets another above it
	smallestSide = 8   // no level is smaller
)

// Levels is the height of the pyramid: the coarsest level of large pictures has 50 to 99 rows, so
// that the range of the search grows with the picture.
func Levels(width, height int) int {
	side, n := min(width, height), 1
	for side>>n >= smallestSide && (n < usualLevels || side>>(n-1) >= largeLevel) {
		n++
	}
	return n
}

// Smooth filters with (1,6,1)/8, or coarsely with (1,2,1)/4, across and down, rounded once to
// samples of [Depth] bits.
func Smooth(p plane.Plane, coarse bool) plane.Plane {
	centre, shift := 6, 6
	if coarse {
		centre, shift = 2, 4
	}
	shift += p.Depth - Depth
	out := plane.New(p.Width, p.Height, Depth)
	plane.Rows(p.Height, func(y int) {
		above, here, below := p.Row(max(y-1, 0)), p.Row(y), p.Row(min(y+1, p.Height-1))
		column := func(x int) int {
			x = min(max(x, 0), p.Width-1)
			return int(above[x]) + centre*int(here[x]) + int(below[x])
		}
		for x, row := 0, out.Row(y); x < p.Width; x++ {
			sum := column(x-1) + centre*column(x) + column(x+1)
			row[x] = uint16(min((sum+1<<(shift-1))>>shift, out.Max()))
		}
	})
	return out
}

// half returns the means of 2 by 2 samples. An odd row or column at the end is left out.
func half(p plane.Plane) plane.Plane {
	out := plane.New(p.Width/2, p.Height/2, p.Depth)
	for y := range out.Height {
		a, b, row := p.Row(2*y), p.Row(2*y+1), out.Row(y)
		for x := range row {
			sum := int(a[2*x]) + int(a[2*x+1]) + int(b[2*x]) + int(b[2*x+1])
			row[x] = uint16((sum + 2) >> 2)
		}
	}
	return out
}

// HalfPels are a plane and the planes half a pel to the right, down, and both: indexed by a
// vector's phase.
type HalfPels [4]plane.Plane

// Between interpolates the planes between the samples.
func Between(p plane.Plane) HalfPels {
	r := right(p)
	return HalfPels{p, r, down(p), down(r)}
}

// taps interpolate half way between the middle two samples. Their sum is 64.
var taps = [8]int{-1, 4, -11, 40, 40, -11, 4, -1}

const (
	firstTap = -3 // the place of taps[0] from the sample to the left or above
	tapShift = 6
)

func right(p plane.Plane) plane.Plane {
	out := p.Like()
	plane.Rows(p.Height, func(y int) {
		line := make([]uint16, p.Width+len(taps)) // the row, from the first tap of its first sample
		for x := range line {
			line[x] = uint16(p.At(x+firstTap, y))
		}
		var shifted [len(taps)][]uint16
		for i := range shifted {
			shifted[i] = line[i:]
		}
		interpolate(out.Row(y), &shifted, p.Max())
	})
	return out
}

func down(p plane.Plane) plane.Plane {
	out := p.Like()
	plane.Rows(p.Height, func(y int) {
		var rows [len(taps)][]uint16
		for i := range rows {
			rows[i] = p.Row(min(max(y+firstTap+i, 0), p.Height-1))
		}
		interpolate(out.Row(y), &rows, p.Max())
	})
	return out
}

// interpolate makes a row of rows that are a tap apart.
func interpolate(out []uint16, rows *[len(taps)][]uint16, most int) {
	for x := range out {
		sum := 1 << (tapShift - 1)
		for i, tap := range taps {
			sum += tap * int(rows[i][x])
		}
		out[x] = uint16(min(max(sum>>tapShift, 0), most))
	}
}
