package kernels

import (
	"encoding/binary"
	"fmt"
	"math"

	"vidfilter/pipeline"
)

// thesisForm is the thesis (000): cuda/thesis.cu, and cuda/thesis_lab.cu for the distance in CIE-Lab.
var thesisForm = labForm{form: Thesis, list: thesisVariants, passes: thesisPasses, table: thesisTable, scratch: thesisScratch}

// thesisVersions are the thesis' versions in its order, by the number less one.
var thesisVersions = []struct{ name, title string }{
	{"naive", "naive"},
	{"constant", "constant memory"},
	{"shared", "shared memory"},
	{"padded", "padded shared memory"},
	{"tiling", "1xN tiling without padding"},
	{"padded_tiling", "1xN tiling with padding"},
	{"sliding", "1xN tiling, sliding"},
	{"unrolled", "1xN tiling with padding, unrolled"},
}

// How the thesis' kernels get the range weight: VF_EXP in thesis.cu.
const (
	thesisFloat = iota
	thesisDouble
	thesisLevels // from a table by the difference of levels
)

var thesisWeights = []struct{ name, title string }{{"", ""}, {"double", ", exp in double precision"}, {"table", ", table of range weights"}}

// thesisVariants lists what the experiments take: all versions at the block of 16, which was the fastest, with all factors; the other
// sides of a block (figure 6.1) with the factor that was the best; and beside the plain ones at 16 those with the table (section 7.1), in
// double precision, and with CIE-Lab.
func thesisVariants() (list []Variant) {
	for version := 1; version <= len(thesisVersions); version++ {
		for _, block := range []int{4, 8, 16, 32} {
			list = append(list, thesisVariant(version, block, thesisFactor(version), thesisFloat))
		}
		for factor := 2; factor <= 6 && version >= 5; factor++ {
			if factor != thesisFactor(version) {
				list = append(list, thesisVariant(version, 16, factor, thesisFloat))
			}
		}
	}
	for _, version := range []int{1, 2, 3, 4, 6, 8} {
		list = append(list, thesisVariant(version, 16, thesisFactor(version), thesisLevels))
	}
	for _, version := range []int{1, 4} {
		list = append(list, thesisVariant(version, 16, 1, thesisDouble))
	}
	for _, version := range []int{1, 2} {
		list = append(list, thesisLabVariant(version))
	}
	return list
}

// thesisFactor is the tiling factor that served a version best there (section 6.2): 4 with the loop unrolled, the least without.
func thesisFactor(version int) int {
	switch {
	case version < 5:
		return 1
	case version < 8:
		return 2
	}
	return 4
}

func thesisVariant(version, block, factor, weight int) Variant {
	t, w := thesisVersions[version-1], thesisWeights[weight]
	name := fmt.Sprintf("thesis_%d_%s_b%d", version, t.name, block)
	if version >= 5 {
		name += fmt.Sprintf("_f%d", factor)
	}
	if weight != thesisFloat {
		name += "_" + w.name
	}
	return Variant{
		Name: name, Form: Thesis, Radius: AnyRadius, Range: Gaussian, Distance: Channel, Compute: 61,
		Paper: "000", Version: fmt.Sprint(version), Title: t.title + w.title, Border: Skip, Block: block, Factor: factor, Weight: w.name,
		threads: [2]int{block, block},
		flags:   []string{define("VERSION", version), define("BLOCK", block), define("FACTOR", factor), define("EXP", weight)},
	}
}

func thesisLabVariant(version int) Variant {
	v := thesisVariant(version, 16, 1, thesisFloat)
	v.Name += "_lab"
	v.Title += ", CIE-Lab"
	v.Distance, v.source = Lab, "thesis_lab.cu"
	return v
}

// thesisPasses covers the field with blocks of one tile or several; with CIE-Lab, twice.
func thesisPasses(v Variant, p Params, width, height int) []pass {
	one := pass{
		grid: [2]int{blocks(width, v.Block*v.Factor), blocks(height, v.Block)}, block: v.threads, shared: thesisShared(v, p.Radius),
	}
	if v.Distance == Lab {
		return []pass{one, one}
	}
	return []pass{one}
}

// thesisShared is the size of a block's array in shared memory: equations 3.1, 5.3 and 5.4.
func thesisShared(v Variant, radius int) int {
	halo, tiles := 2*radius, v.Block*v.Factor
	padded := func(rest int) int { return 4 * ((rest+31)/32*32 + v.Block) * (v.Block + halo) }
	switch v.Version {
	case "3", "5":
		return 3 * (tiles + halo) * (v.Block + halo)
	case "4", "7":
		return padded(halo)
	case "6", "8":
		return padded(halo + tiles - v.Block)
	}
	return 0
}

// thesisTable is the spatial weights of the whole window, which version 1 has in global memory.
func thesisTable(v Variant, p Params) (table []byte) {
	if v.Version != "1" {
		return nil
	}
	for _, row := range spatialWeights(p) {
		for _, gs := range row {
			table = binary.LittleEndian.AppendUint32(table, math.Float32bits(float32(gs)))
		}
	}
	return table
}

// thesisScratch holds L, a and b of a frame, and a float for nothing.
func thesisScratch(v Variant, _ Params, f pipeline.Format) int {
	if v.Distance != Lab {
		return 0
	}
	return 16 * f.Width * f.Height
}
