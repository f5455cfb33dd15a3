package main

import (
	"context"
	"path"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/terminal"
	"vidfilter/lab/quality"
)

// takeClips takes arguments as clips of --quality.
func (o *labOptions) takeClips(args []string) error {
	if len(args) > 0 && !o.Quality {
		return cli.Usagef("vidfilter lab --paper 004 runs one paper's", "unexpected argument %q", args[0])
	}
	if o.Quality && o.renders() {
		return cli.Usagef("leave one of them out", "--quality measures, and -i and -o filter")
	}
	o.quality.Files = args
	return nil
}

// resolveQuality refuses options without effect.
func (o *labOptions) resolveQuality(fs *pflag.FlagSet) error {
	const leave = "leave one of them out"
	for _, flag := range []string{"noise", "clips", "truth", "rivals", "crops"} {
		if fs.Changed(flag) && !o.Quality {
			return cli.Usagef("add --quality", "--%s does nothing without --quality", flag)
		}
		if fs.Changed(flag) && o.From != "" {
			return cli.Usagef(leave, "--%s does nothing beside --from, which measures nothing", flag)
		}
	}
	if !o.Quality {
		return nil
	}
	for _, flag := range []string{"paper", "kernel", "device", "shrink", "list"} {
		if fs.Changed(flag) {
			return cli.Usagef(leave, "--%s is of the papers, and --quality measures the denoiser", flag)
		}
	}
	named := len(o.quality.Files) > 0
	switch {
	case named && fs.Changed("clips"):
		return cli.Usagef(leave, "--clips chooses drawn clips, and those that are named are measured instead")
	case o.quality.Truth != "" && !named:
		return cli.Usagef("vidfilter lab --quality --truth clean.mkv noisy.mkv", "--truth has no clip to be compared with")
	case o.quality.Truth != "" && fs.Changed("noise"):
		return cli.Usagef(leave, "--noise adds noise to clean clips, and --truth says that they have it")
	}
	return nil
}

func parseClips(glob string) (string, error) {
	return glob, checkGlob(glob, quality.Names("*/*"), "there are tuning/*, proof/*: docs/quality.md names them", "no clip has such a name")
}

func parseMethods(glob string) (string, error) {
	_, err := path.Match(glob, "")
	return glob, err
}

// runQuality measures the denoiser, or shows a file of --json.
func runQuality(o *labOptions, s terminal.Stdio) error {
	if o.From != "" {
		r, err := readReport(o.From, "vidfilter lab --quality", func(r *quality.Report) int { return len(r.Cells) + len(r.Footage) }, "no clip is in it")
		if err != nil {
			return err
		}
		return o.print(s.Out, r)
	}
	o.quality.Quick, o.quality.Version = o.Quick, o.Version
	if terminal.IsTerminal(s.Err) {
		o.quality.Log = terminal.NewLogger(s.Err, false)
	}
	r, err := interruptibly(func(ctx context.Context) (*quality.Report, error) { return quality.Run(ctx, o.quality) })
	if err != nil {
		o.printPart(s.Out, r)
		return err
	}
	return o.print(s.Out, r)
}
