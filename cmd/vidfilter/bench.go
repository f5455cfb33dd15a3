package main

import (
	"github.com/spf13/cobra"

	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
)

func (a *app) newBenchCommand(s terminal.Stdio) *cobra.Command {
	o := newBenchOptions()
	o.Program = a.program
	return withFlags(&cobra.Command{
		Use:   "bench [options]",
		Short: "Measure the filters' speed",
		Long: withExits(`Measure how fast this machine filters. Results are checked before they are
timed; a wrong one is an error. Sections, from kernel to live of the bilateral
filter:
  denoise  each quality on GPU and CPU, beside a floor, and ffmpeg's nlmeans if
           installed
  filters  the deinterlacer and the repair, beside a floor
  kernel   the GPU's kernels alone, beside a floor
  step     copy in, kernel, copy out, beside the bus
  end      whole jobs by stage, beside the same without a filter and a floor
  cpu      the CPU's filter beside the GPU's
  live     the age of a camera's picture when it goes to a viewer
  start    the program's start, and a job of one picture`, contract.ExitInput, contract.ExitOutput, contract.ExitDevice, contract.ExitInterrupt),
		Example: `  vidfilter bench --quick
  vidfilter bench --only denoise -v
  vidfilter bench --only kernel --size 4k`,
		RunE: func(*cobra.Command, []string) error { return runBench(o, s) },
	}, o.flags(), refuseArguments("vidfilter bench -i FILE measures with a video"))
}
