package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"vidfilter/decode"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

func newCompareCommand(s terminal.Stdio) *cobra.Command {
	var streams bool
	var mode string
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	t.Flag(&streams, "streams", "", "compare properties, streams and tags, not pictures")
	job.SandboxFlag(t, &mode)
	return withFlags(&cobra.Command{
		Use: "compare A B [--streams]", Short: "Print PSNR and SSIM of two videos",
		Long: withExits("Print PSNR and SSIM of two videos of one size, layout and number of frames.\n"+
			"With --streams, print depth, colour, HDR metadata, streams, chapters and tags of\n"+
			"both. * marks differences, which make the exit code 1.",
			contract.ExitInput, contract.ExitOutput),
		Example: "  vidfilter compare clean.mp4 filtered.mp4\n  vidfilter compare --streams in.mkv out.mp4",
		RunE: func(_ *cobra.Command, args []string) error {
			warnWithoutSandbox(mode, s)
			if err := job.EnterSandbox(sandbox.Policy{}, decode.Options{}, args...); err != nil {
				return err
			}
			if streams {
				return runCompareStreams(args[0], args[1], s.Out)
			}
			return runCompare(args[0], args[1], s.Out)
		},
	}, fs, takes(2, "vidfilter compare clean.mp4 filtered.mp4", "compare takes two files"))
}

func runCompare(a, b string, w io.Writer) error {
	score, err := job.CompareVideos(context.Background(), job.Clip{Path: a}, job.Clip{Path: b})
	switch {
	case errors.Is(err, decode.ErrUnreadable):
		return err
	case err != nil:
		return fmt.Errorf("compare %s and %s: %w", a, b, err)
	}
	_, err = fmt.Fprintln(w, score)
	return err
}

func runCompareStreams(a, b string, w io.Writer) error {
	rows, err := job.CompareStreams(context.Background(), a, b)
	if err != nil {
		return err
	}
	differ := 0
	t := text.NewTable(5, "", "of", "property", "A", "B")
	t.Empty, t.Indent = "", 0
	for _, r := range rows {
		mark := ""
		if !r.Same {
			mark = "*"
			differ++
		}
		t.Add(mark, text.OneLine(r.Item), r.Property, text.OneLine(r.From), text.OneLine(r.To))
	}
	if _, err := io.WriteString(w, strings.TrimRight(t.String(), "\n")+"\n"); err != nil {
		return err
	}
	if differ > 0 {
		return fmt.Errorf("%s and %s differ in %s", a, b, text.Count(differ, "row"))
	}
	return nil
}
