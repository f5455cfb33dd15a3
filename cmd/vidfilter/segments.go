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
			sayWithoutSandbox(o.Sandbox, s)
			parts, err := job.SegmentsOf(o, cmd.Flags(), s.Env)
			if err != nil {
				return err
			}
			return text.JSON(s.Out, parts)
		},
	}, o.SegmentsFlags(), nil)
}
