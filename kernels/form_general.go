package kernels

import "fmt"

// generalForm handles samples of two bytes and planar RGB, with the radius known at run time:
// cuda/general.cu.
var generalForm = &Form{Name: "general", Filter: bilateralFilter, Variants: generalVariants, Priority: always(10), Work: windowWork(plainTap, generalShared)}

func generalVariants() (all []Variant) {
	for _, r := range []RangeWeight{Lorentzian, Gaussian} {
		v := Variant{
			Name: fmt.Sprintf("general_%s", r), Radii: [2]int{0, MaxRadius}, Range: r, Compute: 61,
			Tile: [2]int{32, 16}, Threads: [2]int{32, 8}, Defines: []string{DefineRange(r)},
		}
		deep := v.deeper(9, 16)
		all = append(all, v.planarRGB(), deep, deep.planarRGB())
	}
	return all
}

// generalShared is the size of the words of a tile with its halo.
func generalShared(v Variant, radius int) int {
	return 4 * v.sampleBytes() * (v.Tile[0] + 2*((radius+3)/4*4)) * (v.Tile[1] + 2*radius)
}
