package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/job"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func newCutCommand(s terminal.Stdio) *cobra.Command {
	o := job.NewSegmentOptions()
	return withFlags(&cobra.Command{
		Use: "cut -i FILE -o OUT.mov --part A:B:N [options]", Short: "Copy a part of a video", Hidden: true,
		Long:    withExits("Copy the packets that vidfilter --part needs of a video.", contract.ExitInput, contract.ExitOutput, contract.ExitInterrupt),
		Example: "  vidfilter cut -i in.mp4 -o part.mov --part 0:15360:60",
		RunE: func(*cobra.Command, []string) error {
			sayWithoutSandbox(o.Sandbox, s)
			return job.CutPart(o, s)
		},
	}, o.CutFlags(), nil)
}
