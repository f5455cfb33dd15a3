package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
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

// resolveQuality refuses options that do nothing.
func (o *labOptions) resolveQuality(fs *pflag.FlagSet) error {
	const leave = "leave one of them out"
	for _, flag := range []string{"noise", "clips", "rivals", "crops"} {
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
	for _, flag := range []string{"paper", "kernel", "device", "shrink", "list", "plot"} {
		if fs.Changed(flag) {
			return cli.Usagef(leave, "--%s is of the papers, and --quality measures the denoiser", flag)
		}
	}
	if o.quality.Clips == "-" && len(o.quality.Files) == 0 && o.From == "" {
		return cli.Usagef("name a video", "--clips - leaves the drawn clips out, and there are no others")
	}
	return nil
}

func parseNoiseKind(s string) (string, error) {
	if slices.Contains(quality.KindNames(), s) {
		return s, nil
	}
	return "", cli.UnknownName(quality.KindNames(), s)
}

func parseClips(glob string) (string, error) {
	if glob == "-" {
		return glob, nil
	}
	return glob, checkGlob(glob, quality.Names("*/*"), "there are tuning/*, proof/*: docs/quality.md names them", "no clip has such a name")
}

func parseMethods(glob string) (string, error) {
	_, err := path.Match(glob, "")
	return glob, err
}

// runQuality measures the denoiser, or shows what --json wrote.
func runQuality(o *labOptions, s cli.Stdio) error {
	if o.From != "" {
		r, err := readQuality(o.From)
		if err != nil {
			return err
		}
		return o.showQuality(s.Out, r)
	}
	o.quality.Quick, o.quality.Version = o.Quick, o.Version
	if cli.IsTerminal(s.Err) {
		o.quality.Log = cli.NewLogger(s.Err, false)
	}
	r, err := interruptibly(func(ctx context.Context) (*quality.Report, error) { return quality.Run(ctx, o.quality) })
	if err != nil {
		if !o.JSON && len(r.Cells) > 0 {
			_ = o.showQuality(s.Out, r) // the earlier error counts
		}
		return err
	}
	return o.showQuality(s.Out, r)
}

func (o *labOptions) showQuality(w io.Writer, r *quality.Report) error {
	switch {
	case o.JSON:
		return text.JSON(w, r)
	case o.Markdown:
		return r.Document().WriteMarkdown(w)
	}
	return r.Document().WriteText(w)
}

// readQuality reads a report written by --quality --json.
func readQuality(name string) (*quality.Report, error) {
	const how = "vidfilter lab --quality --json writes such a file"
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", decode.ErrUnreadable, err)
	}
	r := new(quality.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, hint.Wrap(fmt.Errorf("%w: %s: %w", decode.ErrUnreadable, name, err), how)
	}
	if len(r.Cells) == 0 {
		return nil, hint.Wrap(fmt.Errorf("%w: %s: no clip is in it", decode.ErrUnreadable, name), how)
	}
	return r, nil
}
