package lab

import (
	"testing"

	"vidfilter/lab/measure"
)

func timed(r Row, ms float64) Row {
	r.Time = measure.Stat{Median: ms, Least: ms, Most: ms, N: 1}
	return r
}

// TestSpeedups: the fastest of several naive configurations is the baseline. The program's own
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
