// Package bench measures the filters on this machine: the denoiser and the filters before it, then
// the bilateral filter's kernels alone, steps with their copies, whole jobs, the CPU beside the
// GPU, and live; and how long the program takes to start. Each filter
// is checked against the reference before it is timed.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"vidfilter/lab/measure"
	"vidfilter/lab/report"
)

// The sections of a report, in order.
const (
	SectionDenoise = "denoise" // the denoiser: kernels alone and with copies, on the GPU and the CPU
	SectionFilters = "filters" // the deinterlacer and the repair
	SectionKernel  = "kernel"  // the bilateral filter's kernels alone, on frames in the device's memory
	SectionStep    = "step"    // copy in, kernel, copy out
	SectionEnd     = "end"     // decode, filter, encode
	SectionCPU     = "cpu"     // the CPU beside the GPU
	SectionStart   = "start"   // the program's start, and a job of one picture
	SectionLive    = "live"    // a camera picture's age when it is sent
)

// Sections lists them.
func Sections() []string {
	return []string{SectionDenoise, SectionFilters, SectionKernel, SectionStep, SectionEnd, SectionCPU, SectionLive, SectionStart}
}

// Shared with the lab.
type (
	Size        = measure.Size
	Stat        = measure.Stat
	Check       = measure.Check
	WrongResult = measure.WrongResult
	Machine     = measure.Machine
	GPU         = measure.GPU
)

// MinSide is the least width and height at which the clips' scene can be drawn.
const MinSide = 16

// Options of Run. The zero value measures everything on the first GPU.
type Options struct {
	Only   []string // sections; empty: all
	Kernel string   // glob (path.Match) of the kernels to time; "": those for the default options
	Radii  []int    // empty: each section's own
	Sizes  []Size   // empty: each section's own
	Input  string   // video for the whole jobs; "": generated clips
	Quick  bool     // fewer sizes, radii and repetitions

	Verbose bool // also time the denoiser's kernels one by one

	CPU     bool  // do not use the GPU
	Indexes []int // the GPU to use, at most one; empty: the first usable one
	NeedGPU bool  // no GPU is an error

	Program bool         // this process is the program, whose start is measured
	Version string       // of the program, for the report
	Log     *slog.Logger // progress, a line at a time; nil drops it
}

// Report has the measurements. A section that was not requested or not reached is nil.
type Report struct {
	report.Header
	Denoise *DenoiseSection `json:"denoise"`
	Filters *FiltersSection `json:"filters"`
	Kernel  *KernelSection  `json:"kernel"`
	Step    *StepSection    `json:"step"`
	End     *EndSection     `json:"end"`
	CPU     *CPUSection     `json:"cpu"`
	Live    *LiveSection    `json:"live"`
	Start   *StartSection   `json:"start"`
}

// run is one Run at work.
type run struct {
	measure.Backends
	o    Options
	seen map[checked]Check
	peak func() measure.Peak // of the CPU
}

// Run measures. After an error the report has the sections measured before. Errors and wrong
// results of a device wrap gpu.ErrDevice; the end of ctx is returned as its cause.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	r := &run{o: o, seen: map[checked]Check{}}
	r.peak = sync.OnceValue(func() measure.Peak { return measure.PeakOfCPU(r.CPU.Threads(), r.copySize()) })
	defer r.Close()
	measured := &Report{Header: report.NewHeader(o.Version, o.Quick)}
	var err error
	r.Backends, err = measure.Open(o.CPU, o.Indexes, r.needsGPU())
	measured.Machine, measured.NoGPU = r.Machine, r.NoGPU
	if err != nil {
		return measured, err
	}
	return measured, r.sections(ctx, measured)
}

// needsGPU reports whether all measurements need a GPU.
func (r *run) needsGPU() bool {
	without := func(s string) bool { return s != SectionKernel && s != SectionStep }
	return r.o.NeedGPU || len(r.o.Only) > 0 && !slices.ContainsFunc(r.o.Only, without)
}

func (r *run) sections(ctx context.Context, measured *Report) (err error) {
	for _, section := range []struct {
		name string
		gpu  bool // needs a GPU
		run  func() error
	}{
		{SectionDenoise, false, func() error { measured.Denoise, err = r.denoise(ctx); return err }},
		{SectionFilters, false, func() error { measured.Filters, err = r.filters(ctx); return err }},
		{SectionKernel, true, func() error { measured.Kernel, err = r.kernels(ctx); return err }},
		{SectionStep, true, func() error { measured.Step, err = r.steps(ctx); return err }},
		{SectionEnd, false, func() error { measured.End, err = r.end(ctx); return err }},
		{SectionCPU, false, func() error { measured.CPU, err = r.cpuBeside(ctx); return err }},
		{SectionLive, false, func() error { measured.Live, err = r.live(ctx); return err }},
		{SectionStart, false, func() error { measured.Start, err = r.start(ctx); return err }},
	} {
		wanted := len(r.o.Only) == 0 || slices.Contains(r.o.Only, section.name)
		if !wanted || section.gpu && r.GPU == nil {
			continue
		}
		r.say("measuring: %s", section.name)
		if err := section.run(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) say(format string, args ...any) { r.o.Log.Info(fmt.Sprintf(format, args...)) }

// The common sizes.
var (
	size1080 = Size{Width: 1920, Height: 1080}
	size4K   = Size{Width: 3840, Height: 2160}
	size8K   = Size{Width: 7680, Height: 4320}
)

// sizes returns the requested sizes, else the section's own.
func (r *run) sizes(own, quick []Size) []Size { return choose(r.o.Sizes, r.o.Quick, own, quick) }
func (r *run) radii(own, quick []int) []int   { return choose(r.o.Radii, r.o.Quick, own, quick) }

func choose[T any](asked []T, isQuick bool, own, quick []T) []T {
	switch {
	case len(asked) > 0:
		return asked
	case isQuick:
		return quick
	}
	return own
}
