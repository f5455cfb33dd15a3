package main

import (
	"context"
	"errors"
	"io"

	"vidfilter/gpu"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/lab/bench"
	"vidfilter/lab/report"
)

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
