package papers

import (
	"encoding/binary"
	"fmt"
	"math"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// thesisForm is the thesis (000): cuda/thesis.cu, and cuda/thesis_lab.cu for the distance in
// CIE-Lab.
var thesisForm = &kernels.Form{Name: "thesis", Filter: kernels.Bilateral{}.Filter(), Layouts: rgba, Variants: thesisVariants, Work: kernels.WorkOf(thesisWork)}

// thesisVersions are the thesis' versions 1 to 8, in order.
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

// Sources of the thesis' range weight: VF_EXP in thesis.cu.
const (
	thesisFloat = iota
	thesisDouble
	thesisLevels // from a table by the difference of levels
)

var thesisWeights = []struct{ name, title string }{{"", ""}, {"double", ", exp in double precision"}, {"table", ", table of range weights"}}

// thesisVariants lists the experiments' kernels: all versions with blocks of 16, the fastest, and
// all factors, the other block sizes (figure 6.1) with the best factor; and beside the plain ones
// at 16 those with the table (section 7.1), in double precision, and with CIE-Lab.
func thesisVariants() (list []kernels.Variant) {
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

// thesisFactor is the best tiling factor of a version in the thesis (section 6.2): 4 with the loop
// unrolled, the least without.
func thesisFactor(version int) int {
	switch {
	case version < 5:
		return 1
	case version < 8:
		return 2
	}
	return 4
}

func thesisVariant(version, block, factor, weight int) kernels.Variant {
	t, w := thesisVersions[version-1], thesisWeights[weight]
	name := fmt.Sprintf("thesis_%d_%s_b%d", version, t.name, block)
	if version >= 5 {
		name += fmt.Sprintf("_f%d", factor)
	}
	if weight != thesisFloat {
		name += "_" + w.name
	}
	return kernels.Variant{
		Name: name, Radii: [2]int{0, kernels.MaxRadius}, Range: kernels.Gaussian,
		Compute: 61, Threads: [2]int{block, block},
		Defines: []string{kernels.Define("VERSION", version), kernels.Define("BLOCK", block), kernels.Define("FACTOR", factor), kernels.Define("EXP", weight)},
		Details: Details{
			Paper: "000", Version: fmt.Sprint(version), Title: t.title + w.title, Semantics: Semantics{Channel, Skip},
			Block: block, Factor: factor, Weight: w.name,
		},
	}
}

func thesisLabVariant(version int) kernels.Variant {
	v := thesisVariant(version, 16, 1, thesisFloat)
	d := Of(v)
	d.Title += ", CIE-Lab"
	d.Distance = Lab
	v.Name += "_lab"
	v.Source, v.Details = "thesis_lab.cu", d
	return v
}

// thesisWork covers the field with blocks of one or more tiles; with CIE-Lab, twice.
func thesisWork(v kernels.Variant, p kernels.Bilateral, f pipeline.Format, _ kernels.Limits) (kernels.Work, error) {
	d := Of(v)
	return kernels.Work{Table: thesisTable(d, p), Scratch: thesisScratch(v, f), Launches: launches(newArgs(p), func(field kernels.Field) []pass {
		one := pass{
			grid:  [2]int{kernels.Blocks(field.Width, d.Block*d.Factor), kernels.Blocks(field.Height, d.Block)},
			block: v.Threads, shared: thesisShared(d, p.Radius),
		}
		if d.Distance == Lab {
			return numbered(one, one)
		}
		return []pass{one}
	})}, nil
}

// thesisShared is the size of a block's array in shared memory: equations 3.1, 5.3 and 5.4.
func thesisShared(d Details, radius int) int {
	halo, tiles := 2*radius, d.Block*d.Factor
	padded := func(rest int) int { return 4 * ((rest+31)/32*32 + d.Block) * (d.Block + halo) }
	switch d.Version {
	case "3", "5":
		return 3 * (tiles + halo) * (d.Block + halo)
	case "4", "7":
		return padded(halo)
	case "6", "8":
		return padded(halo + tiles - d.Block)
	}
	return 0
}

// thesisTable has the spatial weights of the whole window, which version 1 reads from global
// memory.
func thesisTable(d Details, p kernels.Bilateral) (table []byte) {
	if d.Version != "1" {
		return nil
	}
	for _, row := range kernels.SpatialWeights(p) {
		for _, gs := range row {
			table = binary.LittleEndian.AppendUint32(table, math.Float32bits(float32(gs)))
		}
	}
	return table
}

// thesisScratch holds L, a and b of a frame, and one float of padding.
func thesisScratch(v kernels.Variant, f pipeline.Format) int {
	if Of(v).Distance != Lab {
		return 0
	}
	return 16 * f.Width * f.Height
}
