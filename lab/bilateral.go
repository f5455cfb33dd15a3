package lab

import (
	"context"
	"fmt"

	"vidfilter/gpu"
)

// pageable is how 004 copies: memory from malloc, one frame at a time.
var pageable = gpu.Copies{Streams: 1, Pageable: true}

const remarkBest = "Each version has the block size and tiling factor that is fastest here at that radius, as in the thesis; the name says which."

// The radii of 000.
var thesisRadii, thesisQuick = []int{1, 3, 5, 7, 9, 11, 13, 15}, []int{1, 7, 15}

// thesisExperiments are tables 6.4 to 6.9 and figures 6.1 and 6.2, at sigma 3 and 30.
func thesisExperiments() (all []*experiment) {
	for i, size := range thesisSizes {
		s := sweep{size: size, radii: thesisRadii, quick: thesisQuick, sigmaS: 3, sigmaR: 30}
		all = append(all, &experiment{Experiment: Experiment{
			ID: picturesOf("000", size), Paper: "000", Title: fmt.Sprintf("every version by radius, %s", size), Axis: "radius",
			Source: fmt.Sprintf("tables 6.%d and 6.%d", 4+i, 7+i), Remarks: []string{remarkBest},
		}, figures: thesisFigures(), run: s.run})
	}
	blocks := sweep{size: thesisSizes[0], radii: []int{1}, sigmaS: 3, sigmaR: 30, each: true, where: "gpu"}
	factors := blocks
	blocks.keep = func(c contender) bool { return c.Block > 0 && c.kind() == "" }
	factors.keep = func(c contender) bool { return c.Factor > 0 && c.Block == 16 && c.kind() == "" }
	const lost = "The figure itself is lost in the text: 16 was best, 4 worst."
	return append(all,
		&experiment{Experiment: Experiment{ID: "000-blocks", Paper: "000", Title: "block sizes, 512x512, radius 1", Axis: "block",
			Source: "figure 6.1", Remarks: []string{lost}}, run: blockRows(blocks)},
		&experiment{Experiment: Experiment{ID: "000-factors", Paper: "000", Title: "tiling factors, 512x512, radius 1, blocks of 16", Axis: "factor",
			Source: "figure 6.2", Remarks: []string{"The figure itself is lost in the text: 4 was best, for version 8 alone."}}, run: factors.run},
	)
}

// blockRows keeps only the fastest tiling factor at each block size, as figure 6.1 does.
func blockRows(s sweep) func(context.Context, *run, *experiment) error {
	return func(ctx context.Context, r *run, e *experiment) error {
		err := s.run(ctx, r, e)
		e.Rows = leastOf(e.Rows, func(row Row) string { return fmt.Sprint(row.Version, row.Block) })
		return err
	}
}

// leastOf keeps the fastest row of each key.
func leastOf(rows []Row, key func(Row) string) (kept []Row) {
	at := map[string]int{}
	for _, row := range rows {
		i, ok := at[key(row)]
		switch {
		case !ok:
			at[key(row)] = len(kept)
			kept = append(kept, row)
		case row.Time.Median < kept[i].Time.Median:
			kept[i] = row
		}
	}
	return kept
}

// staalExperiments are tables 1 and 2. The paper's sigmas are 2 pixels and 0.1 of full range.
func staalExperiments() []*experiment {
	s := sweep{size: size2M, radii: []int{4, 10}, sigmaS: 2, sigmaR: 25.5, step: true}
	return []*experiment{{Experiment: Experiment{
		ID: "004", Paper: "004", Title: "GPU_v1 to v8, 2 megapixels, radius 4 and 10", Axis: "", Source: "tables 1 and 2",
		Remarks: []string{
			"The paper's times have the copies in them: they stand beside \"with copies\", from memory that is not pinned, on one stream.",
			"The CPU's form is the thesis' where the lists have none of 004: the same weights, but the border is left as it is.",
		},
	}, figures: staalFigures(), run: s.run}}
}
