package lab

import (
	"context"
	"fmt"

	"vidfilter/kernels"
)

// agarwalExperiments are the GPU figure, of which the text preserves only a few numbers, and the
// CPU forms on 1 to all cores. Both sigmas are 10, the window is 21x21 or 11x11.
func agarwalExperiments() (all []*experiment) {
	for _, size := range []Size{sizeLarge, sizeSmall} {
		s := sweep{size: size, radii: []int{10, 5}, sigmaS: 10, sigmaR: 10}
		all = append(all, &experiment{Experiment: Experiment{
			ID: picturesOf("003", size), Paper: "003", Title: fmt.Sprintf("naive and pair-symmetric, %s, half-width 10 and 5", size), Axis: "",
			Source: "figure \"Performance of Naive and pair-symmetric\", and text",
			Remarks: []string{"The paper's plots are lost; the text says that the pair-symmetric form took 75 % of the naive one's time at " +
				"best on a GTX 280 (3000x3000, half-width 10), and 56 % on a CPU. " +
				remarkChannels},
		}, figures: agarwalFigures(), run: s.run})
	}
	for _, size := range []Size{sizeCache, sizeLarge} {
		all = append(all, &experiment{Experiment: Experiment{
			ID: picturesOf("003-cores", size), Paper: "003", Title: fmt.Sprintf("the CPU's forms on 1 to all cores, %s, half-width 10", size),
			Axis: "threads", Source: "figures on Intel and AMD chips, and text",
			Remarks: []string{"Speed-ups are over the naive form on one core. The paper's plots are lost; " + agarwalChips},
		}, run: cores{size}.run})
	}
	return all
}

const remarkChannels = "The paper's pictures have one channel; here are three, each by itself."

// agarwalChips quotes the text's numbers for the lost plots over cores.
const agarwalChips = "the text has the best form over the naive one on one core: Barcelona 38.03 on 16 cores (SSE 2.48, naive on all cores 15.34), " +
	"Nehalem-EX 26.46 on 32 (1.12, 23.47), Harpertown 23.07 on 8 (2.69, 7.73), Shanghai 20.92 on 8, Core i7-870 4.63 on 4 (1.33, 3.48)."

// agarwalFigures are the times in the text, and the gain on the large picture.
func agarwalFigures() []Published {
	const barcelona, gtx = "Opteron 8350 (Barcelona)", "GTX 280"
	return []Published{
		{Version: "BL_Naive", Size: sizeLarge, Radius: 10, Ms: 131980, Sequential: 1, Table: "text", Hardware: barcelona},
		{Version: "pair-symmetric", Size: sizeLarge, Radius: 10, Ms: 74310, Sequential: 131.98 / 74.31, Table: "text", Hardware: barcelona},
		{Version: "naive", Size: sizeLarge, Radius: 10, Naive: 1, Table: "text", Hardware: gtx},
		{Version: "symmetric", Size: sizeLarge, Radius: 10, Naive: 1 / 0.75, Table: "text", Hardware: gtx, Remark: "roughly"},
		{Version: "naive", Size: sizeSmall, Radius: 5, Ms: 3.90, Naive: 1, Table: "text", Hardware: gtx, Remark: remark712},
		{Version: "symmetric", Size: sizeSmall, Radius: 5, Ms: 3.88, Naive: 3.90 / 3.88, Table: "text", Hardware: gtx, Remark: remark712},
	}
}

const remark712 = "the text says 768x712 here, and 768x512 elsewhere"

type cores struct{ size Size }

func (k cores) run(ctx context.Context, r *run, e *experiment) error {
	p := kernels.Bilateral{Radius: 10, SigmaS: 10, SigmaR: 10}
	for _, c := range contenders("003") {
		if c.cpu == nil || !r.runs(c) {
			continue
		}
		for _, n := range steps(r.threadsOf(c)) {
			row, err := r.measure(ctx, c, k.size, p, n, false)
			if err != nil {
				return err
			}
			e.Rows = append(e.Rows, row)
		}
	}
	return nil
}
