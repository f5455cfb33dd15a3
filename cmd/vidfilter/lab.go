package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/lab"
)

// runLab runs the papers' experiments here, and prints them beside the papers' figures.
func runLab(args []string, s stdio) error {
	o, err := parseLab(args)
	switch {
	case err != nil:
		return err
	case o.Help:
		return printLabHelp(s.out)
	case o.List:
		return o.list(s.out)
	case o.From != "":
		report, err := readLab(o.From)
		if err != nil {
			return err
		}
		return o.show(s.out, report)
	}
	if err := o.openPlots(); err != nil {
		return err
	}
	if isTerminal(s.err) {
		o.Say = func(format string, args ...any) { fmt.Fprintf(s.err, "vidfilter: "+format+"\n", args...) }
	}
	report, err := interruptibly(func(ctx context.Context) (*lab.Report, error) { return lab.Run(ctx, o.Options) })
	if err != nil {
		if !o.JSON && len(report.Experiments) > 0 {
			_ = o.print(s.out, report) // what went wrong before is said
		}
		return explainBench(err)
	}
	if len(report.Experiments) == 0 {
		return nothingRuns(report)
	}
	return o.show(s.out, report)
}

// nothingRuns is for variants of a GPU, where there is none or an older one.
func nothingRuns(r *lab.Report) error {
	why := r.NoGPU
	if why == "" {
		why = "the GPU is older than what they need"
	}
	return &hinted{fmt.Errorf("none of the variants runs here: %s: %w", why, gpu.ErrDevice), kernelList + " says what runs, and why the rest does not"}
}

// show prints and draws a report.
func (o *labOptions) show(w io.Writer, r *lab.Report) error {
	if err := o.print(w, r); err != nil {
		return err
	}
	return o.draw(r)
}

func (o *labOptions) print(w io.Writer, r *lab.Report) error {
	switch {
	case o.JSON:
		return printJSON(w, r)
	case o.Markdown:
		return printLabMarkdown(w, r)
	}
	return printLab(w, r)
}

// readLab reads what --json has written.
func readLab(name string) (*lab.Report, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", decode.ErrUnreadable, err)
	}
	r := new(lab.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, &hinted{fmt.Errorf("%w: %s: %w", decode.ErrUnreadable, name, err), "vidfilter lab --json writes such a file"}
	}
	if len(r.Experiments) == 0 {
		return nil, &hinted{fmt.Errorf("%w: %s: no experiment is in it", decode.ErrUnreadable, name), "vidfilter lab --json writes such a file"}
	}
	return r, nil
}

// list prints the variants of the papers.
func (o *labOptions) list(w io.Writer) error {
	compute, noGPU := o.compute()
	all := lab.List(o.Papers, compute, noGPU)
	if o.JSON {
		return printJSON(w, all)
	}
	return printLabList(w, all, noGPU)
}

// compute returns the compute capability of the GPU that would be used, or 0 and why there is none.
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

// openPlots makes the folder of --plot before anything is measured.
func (o *labOptions) openPlots() error {
	if o.Plot == "" {
		return nil
	}
	if err := os.MkdirAll(o.Plot, 0o777); err != nil {
		return fmt.Errorf("%w: %w", encode.ErrOutput, err)
	}
	return nil
}

// draw writes an SVG of each experiment, over one of the same name.
func (o *labOptions) draw(r *lab.Report) error {
	if o.Plot == "" {
		return nil
	}
	if err := o.openPlots(); err != nil {
		return err
	}
	for _, e := range r.Experiments {
		t, err := encode.OpenTarget(filepath.Join(o.Plot, e.ID+".svg"), encode.Replace)
		if err != nil {
			return err
		}
		if err := writeTarget(t, e.WritePlot); err != nil {
			_ = t.Discard()
			return err
		}
	}
	return nil
}
