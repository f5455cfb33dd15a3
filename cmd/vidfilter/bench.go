package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"vidfilter/bench"
	"vidfilter/encode"
	"vidfilter/gpu"
)

// runBench measures what the filter reaches here, and prints it.
func runBench(args []string, s stdio) error {
	o, err := parseBench(args)
	if err != nil {
		return err
	}
	if o.Help {
		return printBenchHelp(s.out)
	}
	plot, err := o.openPlot()
	if err != nil {
		return err
	}
	defer plot.discard()
	if isTerminal(s.err) {
		o.Say = func(format string, args ...any) { fmt.Fprintf(s.err, "vidfilter: "+format+"\n", args...) }
	}
	report, err := interruptibly(func(ctx context.Context) (*bench.Report, error) { return bench.Run(ctx, o.Options) })
	if err != nil {
		_ = o.printPart(s.out, report) // what went wrong before is said
		return explainBench(err)
	}
	if err := o.print(s.out, report); err != nil {
		return err
	}
	return plot.write(report)
}

// explainBench adds the way out to an error of a device.
func explainBench(err error) error {
	if errors.Is(err, gpu.ErrDevice) {
		hint := "--device cpu measures the CPU alone"
		if h := hintOf(err); h != "" {
			hint += "; " + h
		}
		return &hinted{err, hint}
	}
	return err
}

// print writes the report in the form that was asked for.
func (o *benchOptions) print(w io.Writer, r *bench.Report) error {
	if o.JSON {
		return printJSON(w, r)
	}
	return printReport(w, r)
}

// printPart writes what was measured before something went wrong. JSON is whole or not there at all.
func (o *benchOptions) printPart(w io.Writer, r *bench.Report) error {
	if o.JSON || r.Kernel == nil && r.Step == nil && r.End == nil && r.CPU == nil {
		return nil
	}
	return printReport(w, r)
}

// interruptibly cancels the measurement at the first signal; a second one has the effect that it has on any program.
func interruptibly[T any](measure func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, wantedSignals()...)
	defer signal.Stop(signals)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interruption{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	report, err := measure(ctx)
	if cause := (interruption{}); err != nil && errors.As(context.Cause(ctx), &cause) {
		return report, cause
	}
	return report, err
}

// plotFile is where --plot goes: nil when nothing was asked for.
type plotFile struct{ target *encode.Target }

// openPlot finds out whether the file can be written before anything is measured.
func (o *benchOptions) openPlot() (*plotFile, error) {
	if o.Plot == "" {
		return nil, nil
	}
	var inputs []string
	if o.Input != "" {
		inputs = append(inputs, o.Input)
	}
	t, err := encode.OpenTarget(filepath.Clean(o.Plot), encode.Replace, inputs...)
	if err != nil {
		return nil, err
	}
	return &plotFile{t}, nil
}

func (p *plotFile) write(r *bench.Report) error {
	if p == nil {
		return nil
	}
	return writeTarget(p.target, r.WritePlot)
}

// writeTarget has what write writes appear under the target's name. After an error the caller discards the target.
func writeTarget(t *encode.Target, write func(io.Writer) error) error {
	f, err := os.OpenFile(t.Path(), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", encode.ErrOutput, err)
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return t.Commit()
}

func (p *plotFile) discard() {
	if p != nil {
		_ = p.target.Discard()
	}
}
