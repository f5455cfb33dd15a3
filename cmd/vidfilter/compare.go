package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/job"
)

func newCompareCommand(s cli.Stdio) *cobra.Command {
	return withFlags(&cobra.Command{
		Use: "compare A B", Short: "Print PSNR and SSIM of two videos",
		Long:    withExits("Print PSNR and SSIM of two videos of one size, layout and number of frames.", contract.ExitInput, contract.ExitOutput),
		Example: "  vidfilter compare clean.mp4 filtered.mp4",
		RunE:    func(_ *cobra.Command, args []string) error { return runCompare(args[0], args[1], s.Out) },
	}, new(pflag.FlagSet), takes(2, "vidfilter compare clean.mp4 filtered.mp4", "compare takes two files"))
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
