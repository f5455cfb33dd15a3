package lab

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/lab/measure"
	"vidfilter/lab/plot"
)

func timed(r Row, ms float64) Row {
	r.Time = measure.Stat{Median: ms, Least: ms, Most: ms, N: 1}
	return r
}

// TestSpeedups: the fastest of several naive configurations is the baseline; the program's own
// filter and other kinds never are.
func TestSpeedups(t *testing.T) {
	e := &experiment{Experiment: Experiment{Paper: "000", Rows: []Row{
		timed(Row{Where: "cpu", Version: "0", Radius: 1, Threads: 1}, 100),
		timed(Row{Where: "gpu", Version: "1", Radius: 1, Block: 4}, 8),
		timed(Row{Where: "gpu", Version: "1", Radius: 1, Block: 16}, 4),
		timed(Row{Where: "gpu", Version: "1", Radius: 1, Block: 16, Kind: "table"}, 1),
		timed(Row{Where: "gpu", Version: "4", Radius: 1}, 2),
		timed(Row{Where: "gpu", Version: "4", Radius: 3}, 2),
	}}}
	e.addSpeedups()
	for i, want := range [][2]float64{{1, 0}, {12.5, 0.5}, {25, 1}, {100, 4}, {50, 2}, {0, 0}} {
		if got := [2]float64{e.Rows[i].Sequential, e.Rows[i].Naive}; got != want {
			t.Errorf("row %d: %v, want %v", i, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for want, r := range map[string]Row{
		"1 naive": {Version: "1", Title: "naive"}, "C": {Version: "C", Title: "C"}, "BL_Naive": {Version: "BL_Naive", Title: "naive"},
		"C stripes in blocks": {Version: "C", Title: "stripes in blocks"}, "OpenMP multi-threaded C": {Version: "OpenMP", Title: "multi-threaded C"},
		"pair-symmetric, blocks of 32 x 8": {Version: "symmetric", Title: "pair-symmetric, blocks of 32 x 8"}, "ours": {Own: true, Version: "tile"},
	} {
		if got := r.words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPlot: lines and bars have the papers' figures, once in the legend, and kinds have no line
// among the times.
func TestPlot(t *testing.T) {
	rows := []Row{
		timed(Row{Where: "gpu", Version: "1", Title: "naive", Radius: 1, Naive: 1, Paper: &Published{Ms: 30, Naive: 1}}, 3),
		timed(Row{Where: "gpu", Version: "1", Title: "naive", Radius: 7, Naive: 1}, 5),
		timed(Row{Where: "gpu", Version: "1", Kind: "table", Title: "naive, table", Radius: 1, Naive: 2}, 1.5),
		timed(Row{Where: "gpu", Own: true, Radius: 1, Naive: 20}, 0.25),
	}
	for axis, want := range map[string][]string{
		"radius": {">speed-up over the naive kernel<", ">1 naive<", ">1 naive, table<", ">ours<", ">then, in the version&#39;s colour<", ">7<"},
		"":       {">1 naive, r 7<", ">then<", ">here<", ">30.0<", ">0.250<"},
	} {
		var svg bytes.Buffer
		e2e.Must(t, (Experiment{ID: "x", Axis: axis, Rows: rows}).WritePlot(&svg))
		for _, w := range want {
			if n := strings.Count(svg.String(), w); n != 1 && w != ">7<" {
				t.Errorf("axis %q has %d times %s", axis, n, w)
			}
		}
		if strings.Count(svg.String(), "<text ") != strings.Count(svg.String(), "<text textLength=") {
			t.Errorf("axis %q has texts of no length", axis)
		}
	}
	for _, axis := range []string{"radius", ""} {
		if err := (Experiment{ID: "x", Axis: axis, Rows: []Row{{}}}).WritePlot(new(bytes.Buffer)); !errors.Is(err, plot.ErrNothing) {
			t.Errorf("axis %q, nothing timed: %v", axis, err)
		}
	}
}
