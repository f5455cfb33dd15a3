package kernels

import "fmt"

// generalForm handles every distance but rgb, and that for samples of two bytes and planar RGB,
// with the radius known at run time: cuda/general.cu.
var generalForm = &Form{Name: "general", Variants: generalVariants(), Priority: always(10), Work: windowWork(plainTap, generalShared)}

func generalVariants() (all []Variant) {
	for _, d := range []Distance{RGB, Channel, Lab, Luma} {
		for _, r := range []RangeWeight{Lorentzian, Gaussian} {
			v := Variant{
				Name: fmt.Sprintf("general_%s_%s", d, r), Radii: [2]int{0, MaxRadius}, Range: r, Distance: d, Compute: 61,
				Tile: [2]int{32, 16}, Threads: [2]int{32, 8}, Defines: []string{Define("DISTANCE", int(d)), DefineRange(r)},
			}
			if d != RGB {
				all = append(all, v)
			}
			all = append(all, v.planarRGB())
			v = v.deeper(9, 16)
			if d == Lab {
				v.Tile[1] = 8
			}
			all = append(all, v, v.planarRGB())
		}
	}
	return all
}

// generalShared is the size of the tile with its halo: a word and the features of the distance for
// each pixel.
func generalShared(v Variant, radius int) int {
	pixels := (v.Tile[0] + 2*((radius+3)/4*4)) * (v.Tile[1] + 2*radius)
	size := 4 * v.sampleBytes() * pixels
	switch v.Distance {
	case Lab:
		if size += 3 * 4 * pixels; !v.deep() {
			size += 4 * 256 // the table of linear light
		}
		return size
	case Luma:
		return size + 4*pixels
	}
	return size
}
