package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/job"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

func newSegmentsCommand(s terminal.Stdio) *cobra.Command {
	o := job.NewSegmentOptions()
	return withFlags(&cobra.Command{
		Use: "segments -i FILE [options]", Short: "List the parts of a video", Hidden: true,
		Long:    withExits("Print as JSON where a job with these options can cut a video into parts.", contract.ExitInput, contract.ExitOutput),
		Example: "  vidfilter segments -i in.mp4 --length 60",
		RunE: func(cmd *cobra.Command, _ []string) error {
			warnWithoutSandbox(o.Sandbox, s)
			parts, err := job.SegmentsOf(o, cmd.Flags(), s.Env)
			if err != nil {
				return err
			}
			return text.JSON(s.Out, parts)
		},
	}, o.SegmentsFlags(), nil)
}

func newCutCommand(s terminal.Stdio) *cobra.Command {
	o := job.NewSegmentOptions()
	return withFlags(&cobra.Command{
		Use: "cut -i FILE -o OUT.mov --part A:B:N [options]", Short: "Copy a part of a video", Hidden: true,
		Long:    withExits("Copy the packets that vidfilter --part needs of a video.", contract.ExitInput, contract.ExitOutput, contract.ExitInterrupt),
		Example: "  vidfilter cut -i in.mp4 -o part.mov --part 0:15360:60",
		RunE: func(*cobra.Command, []string) error {
			warnWithoutSandbox(o.Sandbox, s)
			return job.CutPart(o, s)
		},
	}, o.CutFlags(), nil)
}
