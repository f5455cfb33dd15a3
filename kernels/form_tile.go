package kernels

import "fmt"

// tileForm handles radii known at compile time: cuda/tile.cu.
var tileForm = &Form{Name: "tile", Filter: bilateralFilter, Variants: tileVariants, Priority: always(20), Work: windowWork(scaledTap, ownShared)}

func tileVariants() (all []Variant) {
	for _, r := range []RangeWeight{Lorentzian, Gaussian} {
		for radius := range MaxRadius + 1 {
			all = append(all, tileVariant(radius, 1, r))
			if radius <= deepestTile {
				all = append(all, tileVariant(radius, 2, r).deeper(9, 16))
			}
		}
	}
	return all
}

// deepestTile is the largest radius for samples of two bytes: above it the tensor form is faster,
// or the tile would exceed the shared memory of old devices.
const deepestTile = 4

// tileVariant is for samples of 1 or 2 bytes; with 2, a pixel takes three or four times the memory
// and taps more registers. It sizes the blocks: taller ones amortise the halo of a large radius.
// Small windows are fully unrolled, which keeps their constants out of registers, unless the taps
// need these anyway.
func tileVariant(radius, bytes int, r RangeWeight) Variant {
	height, blocks, unroll := 8, 4, 2*radius+1
	switch {
	case radius > 4:
		height, blocks, unroll = 16, 1, 1
	case radius == 4:
		unroll = 1
	case radius == 1:
		height = 12
	case radius < 3:
		blocks = 5
	}
	halo, tone := (radius+3)/4*4, 4
	switch {
	case bytes > 1 && radius < 2:
		height, blocks, tone = 8, 4, 12
	case bytes > 1:
		blocks, unroll, tone = 3, 1, 16
	}
	return Variant{
		Name: fmt.Sprintf("tile_%s_r%d", r, radius), Radii: [2]int{radius, radius}, Range: r, Compute: 61,
		Tile: [2]int{128, height}, Threads: [2]int{32, height}, Shared: tone * (128 + 2*halo) * (height + 2*radius),
		Defines: []string{Define("RADIUS", radius), Define("HEIGHT", height), Define("BLOCKS", blocks), Define("UNROLL", unroll), DefineRange(r)},
	}
}
