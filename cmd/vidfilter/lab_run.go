package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"vidfilter/decode"
	"vidfilter/gpu"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/lab"
)

// runLab runs the papers' experiments here, and prints them beside the papers' figures.
func runLab(o *labOptions, s terminal.Stdio) error {
	switch {
	case o.List:
		return o.list(s.Out)
	case o.From != "":
		report, err := readReport(o.From, "vidfilter lab", func(r *lab.Report) int { return len(r.Experiments) }, "no experiment is in it")
		if err != nil {
			return err
		}
		return o.print(s.Out, report)
	}
	if terminal.IsTerminal(s.Err) {
		o.Log = terminal.NewLogger(s.Err, false)
	}
	report, err := interruptibly(func(ctx context.Context) (*lab.Report, error) { return lab.Run(ctx, o.Options) })
	if err != nil {
		o.printPart(s.Out, report)
		return explainDevice(err, onlyCPU)
	}
	if len(report.Experiments) == 0 {
		return nothingRuns(report)
	}
	return o.print(s.Out, report)
}

// nothingRuns returns the error for GPU variants without a suitable GPU.
func nothingRuns(r *lab.Report) error {
	why := r.NoGPU
	if why == "" {
		why = "the GPU is older than what they need"
	}
	return hint.Wrap(fmt.Errorf("none of the variants runs here: %s: %w", why, gpu.ErrDevice), listSystems+" says what runs, and why the rest does not")
}

// readReport reads a file that command wrote with --json. none is the error of an empty report.
func readReport[R any](name, command string, size func(*R) int, none string) (*R, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", decode.ErrUnreadable, err)
	}
	r := new(R)
	err = json.Unmarshal(data, r)
	if err == nil && size(r) == 0 {
		err = errors.New(none)
	}
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("%w: %s: %w", decode.ErrUnreadable, name, err), command+" --json writes such a file")
	}
	return r, nil
}

// list prints the variants of the papers.
func (o *labOptions) list(w io.Writer) error {
	compute, noGPU := o.compute()
	all := lab.List(o.Papers, compute, noGPU)
	if o.JSON {
		return text.JSON(w, all)
	}
	list := all.Table().String()
	if noGPU != "" {
		list += "no GPU: " + text.OneLine(noGPU) + "\n"
	}
	_, err := io.WriteString(w, list)
	return err
}

// compute returns the compute capability of the GPU to use, or 0 and the reason.
func (o *labOptions) compute() (capability int, noGPU string) {
	if o.CPU {
		return 0, "only the CPU was asked for"
	}
	b, err := gpu.Open(gpu.Options{Indexes: o.Indexes})
	if err != nil {
		return 0, err.Error()
	}
	defer b.Close()
	return b.Device().Compute, ""
}
