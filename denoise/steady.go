package denoise

import (
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Film flickers: no frame is as bright as its neighbours, so their weights would be near zero. In a
// scene that flickers the engine gets frames of one brightness at each place, with as many bits,
// and its changes are added to the frames: they flicker as before.

const gainBits = 24

// steadier changes the brightness of samples of changeDepth bits in a component, about a zero.
type steadier struct {
	shade         *noise.Shade
	zero, offset  int
	width, height int
}

// steadierOf returns the steadier of component i of a frame's planes.
func steadierOf(f pipeline.Format, i int, c plane.Component, shade *noise.Shade) *steadier {
	s := &steadier{shade: shade, width: c.Width, height: c.Height}
	if i > 0 {
		s.zero = 1 << (changeDepth - 1)
		return s
	}
	const level = 1 << (changeDepth - 8)
	s.offset = int(shade.Offset * level)
	if !f.FullRange {
		s.zero = black * level
	}
	return s
}

const black = 16 // of video, in 8-bit levels

// blackOf returns the level of black of a frame's planes.
func blackOf(f pipeline.Format) float64 {
	if f.FullRange {
		return 0
	}
	return black
}

// span is how many samples share an interpolation of the gain.
const span = 16

// slope is a factor that changes by a step from sample to sample, in 1/2^gainBits.
type slope struct{ at, step int }

// along calls do with each span of row y, its gain and the inverse.
func (s *steadier) along(y int, do func(x0, x1 int, gain, back slope)) {
	row := s.shade.Row(noise.Place(y, s.height))
	fixed := func(v float64) int { return int(v*(1<<gainBits) + 0.5) }
	next := row.At(noise.Place(0, s.width))
	for x := 0; x < s.width; x += span {
		at := next
		next = row.At(noise.Place(x+span, s.width))
		gain, back := fixed(at), fixed(1/at)
		do(x, min(x+span, s.width), slope{gain, (fixed(next) - gain) / span}, slope{back, (fixed(1/next) - back) / span})
	}
}

// steady returns a sample as bright as others.
func (s *steadier) steady(v, gain int) int {
	v = s.zero + s.offset + ((v-s.zero)*gain+1<<(gainBits-1))>>gainBits
	return min(max(v, 0), 1<<changeDepth-1)
}

// steadied returns planes as bright as others, in memory of their own.
func steadied(planes *pipeline.Frame, shade *noise.Shade) *pipeline.Frame {
	out := emptyPlanes(planes, planes.Layout.Info().Depth)
	eachComponent(planes, out, func(i int, from, to plane.Component) {
		s, bits := steadierOf(planes.Format, i, from, shade), scaleOf(from.Depth)
		eachRow(from, func(y int, row, _ []uint16) {
			from.Read(row, 0, y)
			s.along(y, func(x0, x1 int, gain, _ slope) {
				for x := x0; x < x1; x++ {
					row[x] = bits.rounded(s.steady(bits.up(row[x]), gain.at))
					gain.at += gain.step
				}
			})
			to.Write(row, y)
		})
	})
	return out
}

// unsteadied changes the engine's result for steadied planes, of changeDepth bits, to one for the
// planes as they were.
func unsteadied(result, planes *pipeline.Frame, shade *noise.Shade) {
	eachComponent(planes, result, func(i int, from, to plane.Component) {
		s, bits := steadierOf(planes.Format, i, from, shade), scaleOf(from.Depth)
		eachRow(from, func(y int, row, was []uint16) {
			from.Read(was, 0, y)
			to.Read(row, 0, y)
			s.along(y, func(x0, x1 int, gain, back slope) {
				for x := x0; x < x1; x++ {
					had := bits.up(was[x])
					change := bits.change(row[x], s.steady(had, gain.at)) * back.at
					row[x] = uint16(min(max(had+(change+1<<(gainBits-1))>>gainBits, 0), 1<<changeDepth-1))
					gain.at, back.at = gain.at+gain.step, back.at+back.step
				}
			})
			to.Write(row, y)
		})
	})
}

// addToPlanes writes a result of changeDepth bits to out, which has the same planes.
func addToPlanes(out, result *pipeline.Frame) {
	fields := len(plane.Fields(out))
	eachComponent(result, out, func(_ int, from, to plane.Component) {
		has, pattern := scaleOf(to.Depth), pipeline.Rounding(to.Depth)
		eachRow(from, func(y int, row, _ []uint16) {
			from.Read(row, 0, y)
			for x, v := range row {
				row[x] = has.cut(int(v) + int(pattern.At(x, y/fields)*float32(int(1)<<has.shift)))
			}
			to.Write(row, y)
		})
	})
}

// eachComponent calls do with each component of two frames.
func eachComponent(from, to *pipeline.Frame, do func(i int, from, to plane.Component)) {
	for i := range plane.Components(from.Layout) {
		do(i, plane.ComponentOf(from, plane.Whole, i), plane.ComponentOf(to, plane.Whole, i))
	}
}

// eachRow shares the rows of a component among all cores. A row comes with room for it and another.
func eachRow(c plane.Component, do func(y int, row, other []uint16)) {
	const rows = 32
	plane.Rows((c.Height+rows-1)/rows, func(i int) {
		row, other := make([]uint16, c.Width), make([]uint16, c.Width)
		for y := i * rows; y < min((i+1)*rows, c.Height); y++ {
			do(y, row, other)
		}
	})
}
