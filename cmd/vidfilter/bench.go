package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"vidfilter/gpu"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/lab/bench"
	"vidfilter/lab/report"
)

func (a *app) newBenchCommand(s terminal.Stdio) *cobra.Command {
	o := newBenchOptions()
	o.Program = a.program
	return withFlags(&cobra.Command{
		Use:   "bench [options]",
		Short: "Measure the filters' speed",
		Long: withExits(`Measure how fast this machine filters. Results are checked before they are
timed; a wrong one is an error. Sections, from kernel to live of the bilateral
filter:
  denoise  each quality on GPU and CPU, beside a floor, and ffmpeg's nlmeans if
           installed
  filters  the deinterlacer and the repair, beside a floor
  kernel   the GPU's kernels alone, beside a floor
  step     copy in, kernel, copy out, beside the bus
  end      whole jobs by stage, beside the same without a filter and a floor
  cpu      the CPU's filter beside the GPU's
  live     the age of a camera's picture when it goes to a viewer
  start    the program's start, and a job of one picture`, contract.ExitInput, contract.ExitOutput, contract.ExitDevice, contract.ExitInterrupt),
		Example: `  vidfilter bench --quick
  vidfilter bench --only denoise -v
  vidfilter bench --only kernel --size 4k`,
		RunE: func(*cobra.Command, []string) error { return runBench(o, s) },
	}, o.flags(), refuseArguments("vidfilter bench -i FILE measures with a video"))
}

// runBench measures the filter, and prints the report.
func runBench(o *benchOptions, s terminal.Stdio) error {
	if err := o.resolve(); err != nil {
		return err
	}
	if terminal.IsTerminal(s.Err) {
		o.Log = terminal.NewLogger(s.Err, false)
	}
	report, err := interruptibly(func(ctx context.Context) (*bench.Report, error) { return bench.Run(ctx, o.Options) })
	if err != nil {
		o.printPart(s.Out, report)
		return explainDevice(err, onlyCPU)
	}
	return o.print(s.Out, report)
}

const onlyCPU = "--device cpu measures the CPU alone"

// explainDevice adds advice to the error of a device.
func explainDevice(err error, advice string) error {
	if errors.Is(err, gpu.ErrDevice) {
		return hint.Add(err, advice)
	}
	return err
}

// printing is the form in which bench and lab print their reports.
type printing struct{ JSON, Markdown bool }

type documented interface{ Document() report.Document }

func (p printing) print(w io.Writer, r documented) error {
	switch {
	case p.JSON:
		return text.JSON(w, r)
	case p.Markdown:
		return r.Document().WriteMarkdown(w)
	}
	return r.Document().WriteText(w)
}

// printPart prints the sections measured before an error, which is then reported. JSON is whole or
// not printed at all.
func (p printing) printPart(w io.Writer, r documented) {
	if !p.JSON && len(r.Document().Sections) > 0 {
		_ = p.print(w, r)
	}
}

// interruptibly cancels the measurement at the first signal; the second has its default effect.
func interruptibly[T any](measure func(context.Context) (T, error)) (T, error) {
	ctx, stop := terminal.UntilSignal()
	defer stop()
	report, err := measure(ctx)
	return report, terminal.WhyCancelled(ctx, err)
}
