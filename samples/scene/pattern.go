package scene

import (
	"encoding/binary"
	"math/rand/v2"

	"vidfilter/pipeline"
)

// EachSample sets every sample of a frame of any layout. Values are at the layout's depth; more
// bits are kept where a sample has room for them.
func EachSample[T byte | uint16](f *pipeline.Frame, value func(plane, x, y int) T) {
	info := f.Layout.Info()
	size := info.SampleBytes()
	for i, y := range f.Rows() {
		row := f.Row(i, y)
		for x := range len(row) / size {
			v := value(i, x, y)
			if size == 1 {
				row[x] = byte(v)
			} else {
				binary.LittleEndian.PutUint16(row[2*x:], uint16(v)<<info.Shift)
			}
		}
	}
}

// Pattern draws edges, slopes and grain on a frame of any layout. At more than 8 bits some samples
// in two bytes exceed the depth.
func Pattern(f *pipeline.Frame, rng *rand.Rand) {
	unit := 1 << (f.Layout.Info().Depth - 8)
	EachSample(f, func(plane, x, y int) uint16 {
		v := 60 + 20*plane + (x*3+y*2)%97
		if (x/9+y/7)%3 == 0 {
			v += 70
		}
		return uint16(v*unit + int(rng.Uint32()%uint32(17*unit)) - 8*unit)
	})
}
