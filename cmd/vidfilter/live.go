package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/liverun"
)

func newLiveCommand(s cli.Stdio) *cobra.Command {
	o := liverun.NewOptions()
	return withFlags(&cobra.Command{
		Use:   "live [-i INPUT] [options]",
		Short: "Filter a camera and watch it in a browser",
		Long: withExits(`Show a camera in the browser, original beside filtered, until Ctrl-C. INPUT is a
camera (/dev/video0), a file, a pipe (-), "test" (a test picture) or "browser"
(the camera of the viewer). The page's address is printed on stdout.`, contract.ExitInput, contract.ExitOutput, contract.ExitDevice),
		Example: `  vidfilter live
  vidfilter live -i in.mp4 --loop
  vidfilter live -i /dev/video2 --size 1280x720 --record out.mp4`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return liverun.Run(o, cmd.Flags(), s, unknownEnvironment(s.Env))
		},
	}, o.Flags(), func(args []string) error {
		if len(args) > 0 {
			return cli.Usagef("the input goes behind -i: vidfilter live -i "+liverun.ShellQuote(args[0]), "unexpected argument %q", args[0])
		}
		return nil
	})
}
