package kernels

import "fmt"

// tensorForm filters large radii on tensor cores: cuda/tensor.cu.
var tensorForm = &Form{Name: "tensor", Filter: bilateralFilter, Variants: tensorVariants, Priority: always(40), Work: windowWork(scaledTap, ownShared)}

func tensorVariants() (all []Variant) {
	for _, r := range []RangeWeight{Lorentzian, Gaussian} {
		for radius := 5; radius <= MaxRadius; radius++ {
			all = append(all, tensorVariant(radius, 1, r), tensorVariant(radius, 2, r).deeper(9, 12))
		}
	}
	return all
}

// tensorSigmaR is the range of sigma_r for which halves can hold the weights; outside it they fall
// too fast or too slowly.
var tensorSigmaR = [2]float64{4, 400}

// tensorVariant is for samples of 1 or 2 bytes. It sizes the tiles so that two or three blocks fit
// the shared memory of a multiprocessor. The special-function unit computes the reciprocals of mix
// out of every "of" groups. Large radii let more squares share the records that they read. The
// window is barely unrolled: full unrolling at radius 5 and 7 made the kernel 1 to 4 % faster, but
// compiling in the driver two to four times slower.
func tensorVariant(radius, bytes int, r RangeWeight) Variant {
	const group, height = 4, 32
	width, squares, blocks, unroll, mix, of := 64, 8, 2, 1, 1, 5
	switch {
	// A tile of 64 would exceed the 99 KB of shared memory per block on desktop GPUs.
	case radius > 14-bytes:
		width, squares, blocks = 32, 4, 3
	case radius < 7:
		squares, blocks = 4, 3
	}
	switch radius {
	case 5:
		mix, of = 2, 7
	case 6, 10:
		unroll = 2
	}
	across, down := (4+2*radius+group-1)/group, (4+2*radius+1)/2
	columns, rows := width-4+across*group, height-4+down*2
	// Rows hold whole vectors of pixels, and an odd number of them.
	pitch := ((-radius & 3) + columns + 3) / 4 * 4
	pitch = (pitch+3)/8*8 + 4
	return Variant{
		Name: fmt.Sprintf("tensor_%s_r%d", r, radius), Radii: [2]int{radius, radius}, Range: r, SigmaR: tensorSigmaR, Compute: 80,
		Tile: [2]int{width, height}, Threads: [2]int{32, 8}, Shared: 16*pitch*rows + 4*bytes*width*height + 4*(2*radius+8),
		Defines: []string{Define("RADIUS", radius), Define("WIDTH", width), Define("HEIGHT", height), Define("GROUP", group),
			Define("SQUARES", squares), Define("BLOCKS", blocks), Define("WARPS", 8), Define("UNROLL", unroll), Define("MIX", mix), Define("OF", of), DefineRange(r)},
	}
}
