package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/app/liverun"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

func (a *app) newLiveCommand(s terminal.Stdio) *cobra.Command {
	o := liverun.NewOptions()
	return withFlags(&cobra.Command{
		Use:   "live [-i INPUT] [options]",
		Short: "Filter a camera and watch it in a browser",
		Long: withExits(`Show a camera in the browser, original beside filtered, until Ctrl-C. "browser"
is the camera of the viewer. The page's address is printed on stdout.`, contract.ExitInput, contract.ExitOutput, contract.ExitDevice),
		Example: `  vidfilter live
  vidfilter live --output /dev/video9
  vidfilter live -i /dev/video2 --size 1280x720 --record out.mp4`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if a.guards(cmd) {
				if err := cli.ApplyEnvironment(cmd.Flags(), s.Env); err != nil {
					return err
				}
				c := &child{about: o.Input, ui: o.OpenUI(s), verbose: o.Verbose, signals: true}
				c.service = &liverun.Service{Broker: &c.broker, Env: s.Env}
				a.code, err = a.runChild(c)
				return err
			}
			return liverun.Run(o, cmd.Flags(), s, unknownEnvironment(s.Env, cmd.Flags()))
		},
	}, o.Flags(), func(args []string) error {
		if len(args) > 0 && o.RTSP != "" {
			return cli.Usagef("an address follows --rtsp with =, as --rtsp="+args[0], "unexpected argument %q", args[0])
		}
		if len(args) > 0 {
			return cli.Usagef("the input goes behind -i: vidfilter live -i "+text.ShellQuote(args[0]), "unexpected argument %q", args[0])
		}
		return nil
	})
}
