package pipeline

// FilmGrain is grain that a player adds to a decoded picture, by the model of AV1 (AV1 bitstream
// specification, 6.8.20 and 7.18.3). A frame's grain is never changed.
type FilmGrain struct {
	Luma           []GrainPoint    // 0 to 14, by rising value
	Chroma         [2][]GrainPoint // of U and V: 0 to 10
	ChromaFromLuma bool            // chroma is scaled as luma is
	ScalingShift   int             // 8 to 11: scales count in 1/2^ScalingShift

	// Each grain is the weighted sum of its neighbours before it, row by row, and of noise. The
	// last weight of chroma is for luma grain at the same place.
	Lag           int // of neighbours, 0 to 3
	LumaWeights   []int8
	ChromaWeights [2][]int8
	WeightShift   int // 6 to 9: weights count in 1/2^WeightShift
	NoiseShift    int // 0 to 3: halvings of the noise

	// Chroma is scaled at the value that is the sum of Own/64 of chroma, ByLuma/64 of luma, and
	// Offset.
	Own, ByLuma, Offset [2]int

	Overlap     bool // blocks fade into each other
	ClipLimited bool // samples stay within limited range
}

// GrainPoint is a point of the line that scales grain by the brightness of its pixel, both in 0 to
// 255.
type GrainPoint struct{ Value, Scale uint8 }

// GrainSeed returns a seed for the grain of frame n. It is never 0, which would make no grain.
func GrainSeed(n int64) uint16 { return uint16(n*3381%65535) + 1 }
