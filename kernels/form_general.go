package kernels

import "fmt"

// generalForm handles every distance but rgb, with the radius known at run time: cuda/general.cu.
var generalForm = &Form{Name: "general", Variants: generalVariants(), Priority: always(10), Work: windowWork(plainTap, generalShared)}

func generalVariants() (all []Variant) {
	for _, d := range []Distance{Channel, Lab, Luma} {
		for _, r := range []RangeWeight{Lorentzian, Gaussian} {
			all = append(all, Variant{
				Name: fmt.Sprintf("general_%s_%s", d, r), Radii: [2]int{0, MaxRadius}, Range: r, Distance: d, Compute: 61,
				Tile: [2]int{32, 16}, Threads: [2]int{32, 8}, Defines: []string{Define("DISTANCE", int(d)), DefineRange(r)},
			})
		}
	}
	return all
}

// generalShared is the size of the tile with its halo: a word and the features of the distance for
// each pixel.
func generalShared(v Variant, radius int) int {
	size := 4 * (v.Tile[0] + 2*((radius+3)/4*4)) * (v.Tile[1] + 2*radius)
	switch v.Distance {
	case Lab:
		return 4*size + 4*256
	case Luma:
		return 2 * size
	}
	return size
}
