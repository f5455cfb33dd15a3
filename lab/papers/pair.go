package papers

import (
	"fmt"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// pairForm is Agarwal et al. (003): cuda/pair.cu.
var pairForm = &kernels.Form{Name: "pair", Filter: kernels.Bilateral{}.Filter(), Layouts: rgba, Variants: pairVariants, Work: kernels.WorkOf(pairWork)}

const pairWidth = 32 // pixels of a tile, at least twice the largest radius

// pairVariants lists the forms with blocks of 4, 8 and 16 rows: the paper varies the vertical
// dimension.
func pairVariants() (list []kernels.Variant) {
	for _, form := range []struct {
		version, title string
		naive          int
	}{{"naive", "naive", 1}, {"symmetric", "pair-symmetric", 0}} {
		for _, height := range []int{4, 8, 16} {
			list = append(list, kernels.Variant{
				Name: fmt.Sprintf("pair_%s_y%d", form.version, height), Radii: [2]int{0, kernels.MaxRadius},
				Range: kernels.Gaussian, Compute: 61,
				Tile: [2]int{pairWidth, height}, Threads: [2]int{pairWidth, height},
				Defines: []string{kernels.Define("NAIVE", form.naive), kernels.Define("HEIGHT", height)},
				Details: Details{
					Paper: "003", Version: form.version, Title: fmt.Sprintf("%s, blocks of %d x %d", form.title, pairWidth, height),
					Semantics: Semantics{Channel, Skip},
				},
			})
		}
	}
	return list
}

func pairWork(v kernels.Variant, p kernels.Bilateral, f pipeline.Format, _ kernels.Limits) (kernels.Work, error) {
	w := kernels.Work{Launches: launches(newArgs(p), func(field kernels.Field) []pass { return pairPasses(v, p, field.Width, field.Height) })}
	if Of(v).Version != "naive" {
		w.Scratch = 6 * 4 * f.Width * f.Height // two maps of each channel
	}
	return w, nil
}

// pairPasses is one launch of the naive form. The pair-symmetric one clears its maps, filters
// tiles in phases, each of tiles far enough apart not to share pixels, and divides.
func pairPasses(v kernels.Variant, p kernels.Bilateral, width, height int) []pass {
	all := pass{grid: [2]int{kernels.Blocks(width, v.Tile[0]), kernels.Blocks(height, v.Tile[1])}, block: v.Threads}
	across := v.Tile[0] + 2*p.Radius
	if Of(v).Version == "naive" {
		all.shared = 4 * across * (v.Tile[1] + 2*p.Radius)
		return []pass{all}
	}
	down := 1 + kernels.Blocks(p.Radius, v.Tile[1]) // a phase takes one of this many rows of tiles
	apart := pass{
		grid:  [2]int{kernels.Blocks(all.grid[0], 2), kernels.Blocks(all.grid[1], down)},
		block: v.Threads, shared: 3 * 4 * across * (v.Tile[1] + p.Radius),
	}
	passes := []pass{all}
	for range 2 * down {
		passes = append(passes, apart)
	}
	return numbered(append(passes, all)...)
}
