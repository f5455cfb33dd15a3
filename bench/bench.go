// Package bench measures what the filter reaches on the machine that it runs on: the kernels alone, whole steps with the
// copies, whole jobs, and the CPU beside the GPU. What it times it checks against the reference first, in the same run.
package bench

import (
	"context"
	"slices"
	"time"

	"vidfilter/bench/measure"
	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// The sections of a report, in order.
const (
	SectionKernel = "kernel" // kernels alone, on frames in the device's memory
	SectionStep   = "step"   // copy in, kernel, copy out
	SectionEnd    = "end"    // decode, filter, encode
	SectionCPU    = "cpu"    // the CPU beside the GPU
	SectionLive   = "live"   // how old a camera's picture is when it goes out
)

// Sections lists them.
func Sections() []string {
	return []string{SectionKernel, SectionStep, SectionEnd, SectionCPU, SectionLive}
}

// What the lab measures in the same way.
type (
	Size        = measure.Size
	Stat        = measure.Stat
	Check       = measure.Check
	WrongResult = measure.WrongResult
	Machine     = measure.Machine
	GPU         = measure.GPU
)

// MinSide is the least width and height that can be measured: smaller ones the scene of the clips does not come in.
const MinSide = 16

// Options of Run; the zero value measures everything on the first GPU.
type Options struct {
	Only   []string // sections; empty: all
	Kernel string   // glob (path.Match) of the kernels to time; "": of each radius those for the default options
	Radii  []int    // empty: what each section has by default
	Sizes  []Size   // empty: likewise
	Input  string   // video for the whole jobs; "": clips that are made
	Quick  bool     // fewer sizes, radii and repetitions

	CPU     bool  // leave the GPU alone
	Indexes []int // the GPU to use, at most one; empty: the first that can be used
	NeedGPU bool  // no GPU is an error

	Version string                           // of the program, for the report
	Say     func(format string, args ...any) // told what is going on, a line at a time; nil drops it
}

// Report is what was measured. A section that was not asked for, or not reached, is nil.
type Report struct {
	Version string         `json:"version"`
	Date    time.Time      `json:"date"`
	Quick   bool           `json:"quick"`
	Machine Machine        `json:"machine"`
	NoGPU   string         `json:"no_gpu"` // why there is no GPU in it; "" when there is one
	Kernel  *KernelSection `json:"kernel"`
	Step    *StepSection   `json:"step"`
	End     *EndSection    `json:"end"`
	CPU     *CPUSection    `json:"cpu"`
	Live    *LiveSection   `json:"live"`
}

// run is one Run at work.
type run struct {
	o    Options
	cpu  *kernels.CPU
	gpu  *gpu.Backend // nil when there is none
	dev  gpu.Limits   // of the GPU
	seen map[checked]Check
}

// Run measures. It returns the report also with an error, as far as it came. An error of a device wraps gpu.ErrDevice, and so
// does a wrong result of one; the end of ctx is returned as its cause.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	r := &run{o: o, seen: map[checked]Check{}}
	defer r.close()
	report := &Report{Version: o.Version, Date: time.Now().UTC().Truncate(time.Second), Quick: o.Quick}
	if err := r.open(report); err != nil {
		return report, err
	}
	var err error
	if report.Machine, err = r.machine(); err != nil {
		return report, err
	}
	return report, r.sections(ctx, report)
}

func (r *run) open(report *Report) error {
	places, err := measure.Open(r.o.CPU, r.o.Indexes, r.needsGPU())
	r.cpu, r.gpu, report.NoGPU = places.CPU, places.GPU, places.NoGPU
	return err
}

// needsGPU says whether there is nothing to measure without a GPU.
func (r *run) needsGPU() bool {
	without := func(s string) bool { return s != SectionKernel && s != SectionStep }
	return r.o.NeedGPU || len(r.o.Only) > 0 && !slices.ContainsFunc(r.o.Only, without)
}

// openGPU opens the GPU of the run; the caller closes the backend.
func (r *run) openGPU(streams int) (*gpu.Backend, error) {
	return measure.OpenGPU(r.o.Indexes, streams)
}

func (r *run) sections(ctx context.Context, report *Report) (err error) {
	for _, section := range []struct {
		name string
		gpu  bool // it is of no use without one
		run  func() error
	}{
		{SectionKernel, true, func() error { report.Kernel, err = r.kernels(ctx); return err }},
		{SectionStep, true, func() error { report.Step, err = r.steps(ctx); return err }},
		{SectionEnd, false, func() error { report.End, err = r.end(ctx); return err }},
		{SectionCPU, false, func() error { report.CPU, err = r.cpuBeside(ctx); return err }},
		{SectionLive, false, func() error { report.Live, err = r.live(ctx); return err }},
	} {
		wanted := len(r.o.Only) == 0 || slices.Contains(r.o.Only, section.name)
		if !wanted || section.gpu && r.gpu == nil {
			continue
		}
		r.o.Say("measuring: %s", section.name)
		if err := section.run(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) close() { measure.Places{CPU: r.cpu, GPU: r.gpu}.Close() }

// The common sizes.
var (
	size1080 = Size{Width: 1920, Height: 1080}
	size4K   = Size{Width: 3840, Height: 2160}
	size8K   = Size{Width: 7680, Height: 4320}
)

// sizes returns what was asked for, else the section's own.
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

// machine also keeps the device's limits for the sections.
func (r *run) machine() (m Machine, err error) {
	if r.gpu != nil {
		if r.dev, err = r.gpu.Device().Limits(); err != nil {
			return m, err
		}
	}
	return measure.DescribeMachine(r.cpu, r.gpu)
}

// filterTime measures the filter of a backend on frames like src.
func (r *run) filterTime(ctx context.Context, b kernels.Backend, p kernels.Params, src *pipeline.Frame) (Stat, error) {
	return measure.FilterTime(ctx, b, p, src, r.repeat())
}
