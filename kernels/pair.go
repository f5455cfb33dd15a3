package kernels

import (
	"fmt"

	"vidfilter/pipeline"
)

// pairForm is Agarwal et al. (003): see cuda/pair.cu.
var pairForm = labForm{form: Pair, list: pairVariants, passes: pairPasses, scratch: pairScratch}

const pairWidth = 32 // pixels of a tile, at least twice the largest radius

// pairVariants lists the forms with blocks of 4, 8 and 16 rows, as the paper changes their vertical dimension.
func pairVariants() (list []Variant) {
	for _, form := range []string{"naive", "symmetric"} {
		for _, height := range []int{4, 8, 16} {
			naive := 0
			if form == "naive" {
				naive = 1
			}
			list = append(list, Variant{
				Name: fmt.Sprintf("pair_%s_y%d", form, height), Form: Pair, Radius: AnyRadius,
				Range: Gaussian, Distance: Channel, Border: Skip, Compute: 61,
				Paper: "003", Version: form, Title: fmt.Sprintf("%s, blocks of %d x %d", pairTitles[form], pairWidth, height),
				width: pairWidth, height: height, threads: [2]int{pairWidth, height},
				flags: []string{define("NAIVE", naive), define("HEIGHT", height)},
			})
		}
	}
	return list
}

var pairTitles = map[string]string{"naive": "naive", "symmetric": "pair-symmetric"}

// pairPasses is one launch of the naive form. The pair-symmetric one clears its maps, filters tiles that lie apart, then those between
// them, and so on, and divides.
func pairPasses(v Variant, p Params, width, height int) []pass {
	all := pass{grid: [2]int{blocks(width, v.width), blocks(height, v.height)}, block: v.threads}
	across := v.width + 2*p.Radius
	if v.Version == "naive" {
		all.shared = 4 * across * (v.height + 2*p.Radius)
		return []pass{all}
	}
	down := 1 + blocks(p.Radius, v.height) // one of so many tiles
	apart := pass{
		grid:  [2]int{blocks(all.grid[0], 2), blocks(all.grid[1], down)},
		block: v.threads, shared: 3 * 4 * across * (v.height + p.Radius),
	}
	passes := []pass{all}
	for range 2 * down {
		passes = append(passes, apart)
	}
	return append(passes, all)
}

// pairScratch is room for two maps of each channel.
func pairScratch(v Variant, _ Params, f pipeline.Format) int {
	if v.Version == "naive" {
		return 0
	}
	return 6 * 4 * f.Width * f.Height
}
