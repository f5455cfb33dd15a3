package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
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
	}, o.flags(), func([]string) error { return nil })
}
