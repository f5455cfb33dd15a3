// Package lab runs the experiments of the five papers behind the program on this machine, and
// compares the papers' figures with its own. It selects variants from the lists of package papers
// by paper and version, and checks each against the Go reference before timing it.
package lab

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/lab/report"
	"vidfilter/pipeline"
)

// Size of a picture in pixels.
type Size = measure.Size

// Options of Run. The zero value runs every experiment on the CPU and the first GPU.
type Options struct {
	Papers []string // "000" ...; empty: all
	Kernel string   // glob (path.Match) of the variants to time; "": all of the papers
	Quick  bool     // fewer radii, sizes and repetitions
	// Divides the sides of all pictures; 0 is 1. Omits the papers' figures if more than 1.
	Shrink int

	CPU     bool  // do not use the GPU
	Indexes []int // the GPU to use, at most one; empty: the first usable one
	NeedGPU bool  // no GPU is an error

	Version string       // of the program, for the report
	Log     *slog.Logger // progress, a line at a time; nil drops it
}

// Report has the measurements.
type Report struct {
	report.Header
	Experiments []Experiment `json:"experiments"`
}

// run is one Run at work.
type run struct {
	measure.Backends
	o       Options
	scene   *pipeline.Frame // the latest picture
	answers map[string]*answer
	seen    map[string]measure.Check
	best    map[string]contender // fastest configuration of a version

	copyRate float64 // of the GPU's memory, in 1e9 bytes a second; 0 until measured
}

// Run measures. After an error the report has the rows measured before. Errors and wrong results of
// a device wrap gpu.ErrDevice. The end of ctx is returned as its cause.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Shrink = max(o.Shrink, 1)
	r := &run{o: o, answers: map[string]*answer{}, seen: map[string]measure.Check{}, best: map[string]contender{}}
	defer r.Close()
	measured := &Report{Header: report.NewHeader(o.Version, o.Quick)}
	var err error
	r.Backends, err = measure.Open(o.CPU, o.Indexes, o.NeedGPU)
	measured.Shrink, measured.Machine, measured.NoGPU = o.Shrink, r.Machine, r.NoGPU
	if err != nil {
		return measured, err
	}
	for _, e := range experiments() {
		if !e.wanted(o) {
			continue
		}
		r.say("measuring: %s, %s", e.Paper, e.Title)
		err := e.measure(ctx, r)
		e.addSpeedups()
		if len(e.Rows) > 0 {
			measured.Experiments = append(measured.Experiments, e.Experiment)
		}
		if err != nil {
			return measured, err
		}
	}
	return measured, nil
}

// size returns the size here of one of the paper's pictures.
func (r *run) size(s Size) Size {
	// 004's kernels mirror once at each edge, also of a field.
	const least = 2 * (kernels.MaxRadius + 1)
	return Size{Width: max(s.Width/r.o.Shrink, least), Height: max(s.Height/r.o.Shrink, least)}
}

// tiny reports whether the run only tests that everything works: its times are meaningless.
func (r *run) tiny() bool { return r.o.Quick && r.o.Shrink > 1 }

// repeat is how often a kernel runs for one measurement.
func (r *run) repeat() gpu.Repeat {
	switch {
	case r.tiny():
		return gpu.Repeat{Batches: 1, Runs: 1, Time: 1} // for which one run is too long: no warm-up
	case r.o.Quick:
		return gpu.Repeat{Batches: 3, Runs: 100, Time: 30 * time.Millisecond}
	}
	return gpu.Repeat{Batches: 5, Runs: 500, Time: 40 * time.Millisecond}
}

// wanted reports whether the experiment's paper was requested.
func (e *experiment) wanted(o Options) bool {
	return len(o.Papers) == 0 || slices.Contains(o.Papers, e.Paper)
}

func (r *run) say(format string, args ...any) { r.o.Log.Info(fmt.Sprintf(format, args...)) }
