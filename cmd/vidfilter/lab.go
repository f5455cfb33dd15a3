package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"vidfilter/decode"
	"vidfilter/gpu"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/lab"
)

func (a *app) newLabCommand(s terminal.Stdio) *cobra.Command {
	o := newLabOptions()
	return withFlags(&cobra.Command{
		Use:   "lab [options] [CLIPS]",
		Short: "Run the papers' experiments",
		Long: withExits(`Run the papers' experiments, and print their figures beside this machine's:
  000   a thesis: 512x512, 1920x1080, 5522x3651, radius 1 to 15; versions 0 to 8
  001   Akers: 4K and 8K video, radius 1; C, threads, CUDA streams, memory
  002   Ferreira et al.: recursive Gaussian, 256 to 2048 squared; error by kappa
  003   Agarwal et al.: pair-symmetric, 3000x3000 and 768x512; cores of the CPU
  004   Staal: GPU_v1 to v8, 2 megapixels, radius 4 and 10
Results are checked before they are timed; a wrong one is an error. Without a
GPU its rows are left out. With -i and -o, --kernel names one system to filter
a video or picture.

With --quality it measures the denoiser instead. It judges CLIPS as they are, by
frames that the filters did not see; with --truth it compares them with a clean
video, with --noise it adds noise to them. Without CLIPS it draws clips and adds
noise of many kinds. Where an ffmpeg program is installed, its filters at their
best strengths stand beside ours.`, contract.ExitInput, contract.ExitOutput, contract.ExitDevice, contract.ExitInterrupt),
		Example: `  vidfilter lab --paper 004 --quick
  vidfilter lab --json >here.json
  vidfilter lab --from here.json --markdown
  vidfilter lab --list --paper 000
  vidfilter lab --quality holiday.mp4 film.mkv
  vidfilter lab --quality --truth clean.mkv noisy.mkv
  vidfilter lab --quality --noise w10,x23
  vidfilter lab --kernel staal_v4_texture -i in.mp4 -o out.mp4 -r 4`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := o.takeClips(args); err != nil {
				return err
			}
			if o.renders() {
				return a.runRender(cmd, o, s)
			}
			if err := o.resolve(cmd.Flags()); err != nil {
				return err
			}
			if o.Quality {
				return runQuality(o, s)
			}
			return runLab(o, s)
		},
	}, o.flags(), anyArguments)
}

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
