// Package lab runs the experiments of the five papers behind the program on this machine, and puts their figures beside its own. It
// takes what it times from the lists of package kernels, by paper and version, and holds each to the Go reference first.
package lab

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"vidfilter/bench/measure"
	"vidfilter/gpu"
	"vidfilter/kernels"
)

// Size of a picture in pixels.
type Size = measure.Size

// Options of Run; the zero value runs every experiment on the CPU and the first GPU.
type Options struct {
	Papers []string // "000" ...; empty: all
	Kernel string   // glob (path.Match) of the variants to time; "": all of the papers
	Quick  bool     // fewer radii, sizes and repetitions
	Shrink int      // divides the sides of all pictures; the papers' figures are then left out. 0 is 1

	CPU     bool  // leave the GPU alone
	Indexes []int // the GPU to use, at most one; empty: the first that can be used
	NeedGPU bool  // no GPU is an error

	Version string                           // of the program, for the report
	Say     func(format string, args ...any) // told what is going on, a line at a time; nil drops it
}

// Report is what was measured.
type Report struct {
	Version     string          `json:"version"`
	Date        time.Time       `json:"date"`
	Quick       bool            `json:"quick"`
	Shrink      int             `json:"shrink"`
	Machine     measure.Machine `json:"machine"`
	NoGPU       string          `json:"no_gpu"` // why no row is of a GPU; "" when there is one
	Experiments []Experiment    `json:"experiments"`
}

// run is one Run at work.
type run struct {
	o       Options
	cpu     *kernels.CPU
	gpu     *gpu.Backend // nil when there is none
	scenes  map[Size]*scenery
	answers map[string]*answer
	seen    map[string]measure.Check
	best    map[string]contender // of a version's configurations

	copyRate float64 // of the GPU's memory, in 1e9 bytes a second; 0 until it was measured
}

// Run measures. It returns the report also with an error, as far as it came. An error of a device wraps gpu.ErrDevice, and so
// does a wrong result of one; the end of ctx is returned as its cause.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	o.Shrink = max(o.Shrink, 1)
	r := &run{o: o, scenes: map[Size]*scenery{}, answers: map[string]*answer{}, seen: map[string]measure.Check{}, best: map[string]contender{}}
	defer r.close()
	report := &Report{Version: o.Version, Date: time.Now().UTC().Truncate(time.Second), Quick: o.Quick, Shrink: o.Shrink}
	if err := r.open(report); err != nil {
		return report, err
	}
	var err error
	if report.Machine, err = measure.DescribeMachine(r.cpu, r.gpu); err != nil {
		return report, err
	}
	for _, e := range experiments() {
		if !e.wanted(o) {
			continue
		}
		o.Say("measuring: %s, %s", e.Paper, e.Title)
		err := e.measure(ctx, r)
		e.relate()
		if len(e.Rows) > 0 {
			report.Experiments = append(report.Experiments, e.Experiment)
		}
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

func (r *run) open(report *Report) error {
	places, err := measure.Open(r.o.CPU, r.o.Indexes, r.o.NeedGPU)
	r.cpu, r.gpu, report.NoGPU = places.CPU, places.GPU, places.NoGPU
	return err
}

func (r *run) close() { measure.Places{CPU: r.cpu, GPU: r.gpu}.Close() }

// size returns what a side of the paper's picture comes to here.
func (r *run) size(s Size) Size {
	const least = 2 * (kernels.MaxRadius + 1) // 004's kernels mirror once at each edge, of a field too
	return Size{Width: max(s.Width/r.o.Shrink, least), Height: max(s.Height/r.o.Shrink, least)}
}

// named says whether a variant is to be timed.
func (r *run) named(name string) bool {
	if r.o.Kernel == "" {
		return true
	}
	ok, err := path.Match(r.o.Kernel, name)
	return err == nil && ok
}

// tiny says whether the times mean nothing: it is wanted that everything runs.
func (r *run) tiny() bool { return r.o.Quick && r.o.Shrink > 1 }

// repeat says how often a kernel is run to be timed.
func (r *run) repeat() gpu.Repeat {
	switch {
	case r.tiny():
		return gpu.Repeat{Batches: 1, Runs: 1, Time: time.Millisecond}
	case r.o.Quick:
		return gpu.Repeat{Batches: 3, Runs: 100, Time: 30 * time.Millisecond}
	}
	return gpu.Repeat{Batches: 5, Runs: 500, Time: 40 * time.Millisecond}
}

// wanted says whether the experiment is of a paper that was asked for.
func (e *experiment) wanted(o Options) bool {
	return len(o.Papers) == 0 || slices.Contains(o.Papers, e.Paper)
}

func (r *run) say(c contender, format string, args ...any) {
	r.o.Say("%s: %s", c.name(), fmt.Sprintf(format, args...))
}
