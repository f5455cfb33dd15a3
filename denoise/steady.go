package denoise

import (
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Film flickers: no frame is as bright as its neighbours, so their weights would be near zero. In a
// scene that flickers the engine gets frames of one brightness, with as many bits, and its changes
// are added to the frames: they flicker as before.

const gainBits = 16

// steadier changes the brightness of samples of changeDepth bits, about a zero.
type steadier struct{ zero, gain, back int }

// steadierOf returns the steadier of component i of a frame's planes.
func steadierOf(f pipeline.Format, i int, gain float64) steadier {
	s := steadier{gain: int(gain*(1<<gainBits) + 0.5)}
	s.back = 1 << (2 * gainBits) / s.gain
	switch {
	case i > 0:
		s.zero = 1 << (changeDepth - 1)
	case !f.FullRange:
		s.zero = int(black) << (changeDepth - 8)
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

// steady returns a sample as bright as others.
func (s steadier) steady(v int) int {
	v = s.zero + ((v-s.zero)*s.gain+1<<(gainBits-1))>>gainBits
	return min(max(v, 0), 1<<changeDepth-1)
}

// steadied returns planes as bright as others, in memory of their own.
func steadied(planes *pipeline.Frame, gain float64) *pipeline.Frame {
	out := emptyPlanes(planes, planes.Layout.Info().Depth)
	eachComponent(planes, out, func(i int, from, to plane.Component) {
		s, bits := steadierOf(planes.Format, i, gain), scaleOf(from.Depth)
		eachRow(from, func(y int, row, _ []uint16) {
			from.Read(row, 0, y)
			for x, v := range row {
				row[x] = bits.rounded(s.steady(bits.up(v)))
			}
			to.Write(row, y)
		})
	})
	return out
}

// unsteadied changes the engine's result for steadied planes, of changeDepth bits, to one for the
// planes as they were.
func unsteadied(result, planes *pipeline.Frame, gain float64) {
	eachComponent(planes, result, func(i int, from, to plane.Component) {
		s, bits := steadierOf(planes.Format, i, gain), scaleOf(from.Depth)
		eachRow(from, func(y int, row, was []uint16) {
			from.Read(was, 0, y)
			to.Read(row, 0, y)
			for x, v := range was {
				had := bits.up(v)
				change := bits.change(row[x], s.steady(had))
				row[x] = uint16(min(max(had+(change*s.back+1<<(gainBits-1))>>gainBits, 0), 1<<changeDepth-1))
			}
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
