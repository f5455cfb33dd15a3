package kernels

import (
	"fmt"

	"vidfilter/pipeline"
)

// slidingForm weights each pair of pixels once and needs no shared memory, for small radii:
// cuda/sliding.cu. With planes the conversions outweigh that: the tile form is 6 % faster there
// and compiles in a sixth of the time.
var slidingForm = &Form{Name: "sliding", Filter: bilateralFilter, Variants: slidingVariants, Work: windowWork(scaledTap, ownShared), Priority: func(l pipeline.Layout) int {
	if l == pipeline.RGBA {
		return 30
	}
	return 1
}}

func slidingVariants() []Variant {
	return []Variant{slidingVariant(Lorentzian), slidingVariant(Gaussian)}
}

// slidingVariant is for radius 1. Its strips are long enough to make the rows above and below, read
// and weighted without use, cheap, and short enough to give all multiprocessors work.
func slidingVariant(r RangeWeight) Variant {
	const radius, rows, warps = 1, 10, 4
	return Variant{
		Name: fmt.Sprintf("sliding_%s_r%d", r, radius), Radii: [2]int{radius, radius}, Range: r, Compute: 61,
		Tile: [2]int{120, rows * warps}, Threads: [2]int{32, warps},
		Defines: []string{Define("RADIUS", radius), Define("ROWS", rows), Define("WARPS", warps), Define("BLOCKS", 5), DefineRange(r)},
	}
}
