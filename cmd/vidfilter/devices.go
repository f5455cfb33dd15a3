package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/kernels"
)

func newDevicesCommand(s terminal.Stdio) *cobra.Command {
	var compile bool
	fs := cli.NewFlagSet()
	cli.NewTable(fs, "Options").Flag(&compile, "compile", "", "compile all GPU kernels now, and cache them")
	return withFlags(&cobra.Command{
		Use: "devices [options]", Short: "List CPU and GPUs",
		Long:    withExits("List the devices that can filter. Later jobs start faster after --compile.", contract.ExitOutput, contract.ExitDevice),
		Example: "  vidfilter devices\n  vidfilter devices --compile",
		RunE: func(*cobra.Command, []string) error {
			if compile {
				return compileKernels(s.Out)
			}
			return printDevices(s.Out)
		},
	}, fs, nil)
}

func compileKernels(w io.Writer) error {
	b, err := gpu.Open(gpu.Options{All: true})
	if err != nil {
		return err
	}
	defer b.Close()
	start := time.Now()
	n, err := b.CompileAll(context.Background())
	if err == nil {
		_, err = fmt.Fprintf(w, "%d kernels are ready, after %v\n", n, time.Since(start).Round(time.Millisecond))
	}
	return err
}

func printDevices(w io.Writer) error {
	lines := []string{cpuDescription()}
	devices, err := gpu.Devices()
	for _, d := range devices {
		lines = append(lines, describeGPU(d))
		if d.Usable() == nil {
			decodes, cannotDecode := d.Decodes()
			encodes, cannotEncode := d.Encodes()
			lines = append(lines, describeCoding(d, "decodes", decodes, cannotDecode), describeCoding(d, "encodes", encodes, cannotEncode))
		}
	}
	if err != nil {
		lines = append(lines, "no GPU: "+cli.WithHint(err))
	} else {
		lines = append(lines, "driver: CUDA "+gpu.DriverVersion())
	}
	_, err = fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// describeGPU returns a line such as "cuda:0 (NVIDIA H200, compute capability 9.0, 139 GB free of
// 151 GB)".
func describeGPU(d gpu.Device) string {
	if err := d.Usable(); err != nil {
		return cli.WithHint(err)
	}
	what := fmt.Sprintf("%s (%s, compute capability %d.%d, ", d, d.Name, d.Compute/10, d.Compute%10)
	free, err := d.Free()
	if err != nil {
		return fmt.Sprintf("%s%s): cannot be used: %s", what, text.Size(d.Total), cli.WithHint(err))
	}
	return fmt.Sprintf("%s%s free of %s)", what, text.Size(free), text.Size(d.Total))
}

// describeCoding returns a line such as "cuda:0 decodes with 7 engines: H.264 (8 bits, 4:2:0) to
// 4096x4096, HEVC (8, 10, 12 bits, 4:2:0, 4:4:4) to 8192x8192".
func describeCoding(d gpu.Device, verb string, all []gpu.Coding, err error) string {
	switch {
	case errors.Is(err, gpu.ErrNVENCFull):
		return fmt.Sprintf("%s %s nothing now: %s", d, verb, cli.WithHint(err))
	case err != nil:
		return fmt.Sprintf("%s %s nothing: %s", d, verb, cli.WithHint(err))
	case len(all) == 0:
		return fmt.Sprintf("%s %s nothing", d, verb)
	}
	names := map[string]string{"h264": "H.264", "hevc": "HEVC", "vp9": "VP9", "mpeg2video": "MPEG-2", "av1": "AV1"}
	engines := ""
	if n := all[0].Engines; n > 1 {
		engines = fmt.Sprintf(" with %d engines", n)
	}
	var codecs []string
	for len(all) > 0 {
		first := all[0]
		n := slices.IndexFunc(all, func(x gpu.Coding) bool { return x.Codec != first.Codec })
		if n < 0 {
			n = len(all)
		}
		var depths, chromas []string
		for _, x := range all[:n] {
			if depth := fmt.Sprint(x.Depth); !slices.Contains(depths, depth) {
				depths = append(depths, depth)
			}
			if chroma := fmt.Sprintf("4:%d:%d", x.Chroma/10%10, x.Chroma%10); !slices.Contains(chromas, chroma) {
				chromas = append(chromas, chroma)
			}
		}
		codecs = append(codecs, fmt.Sprintf("%s (%s bits, %s) to %dx%d", names[first.Codec], strings.Join(depths, ", "), strings.Join(chromas, ", "),
			first.Width, first.Height))
		all = all[n:]
	}
	return fmt.Sprintf("%s %s%s: %s", d, verb, engines, strings.Join(codecs, ", "))
}

// cpuDescription names the CPU's instruction set and threads.
func cpuDescription() string {
	cpu, err := kernels.NewCPU(0, "")
	if err != nil {
		return err.Error()
	}
	defer cpu.Close()
	return cpu.Name()
}
