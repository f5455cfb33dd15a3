package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/bench"
	"vidfilter/internal/text"
	"vidfilter/kernels"
)

// benchOptions are the choices of vidfilter bench.
type benchOptions struct {
	bench.Options
	device device
	JSON   bool
	Plot   string
	Help   bool
}

var (
	benchDevices = []string{"auto", "cpu", "cuda"}
	sizeNames    = map[string]bench.Size{
		"720p": {Width: 1280, Height: 720}, "1080p": {Width: 1920, Height: 1080},
		"4k": {Width: 3840, Height: 2160}, "8k": {Width: 7680, Height: 4320},
	}
)

// flags returns the flag set that writes into o: what parsing, help and completions are made from.
func (o *benchOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter bench", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Options"}
	t.add(names(newValue(&o.Only, "NAME,...", listOf(parseSection)), bench.Sections()), "only", "", "sections to measure (default all)")
	t.add(newValue(&o.Radii, "N,...", listOf(parseRadius)), "radius", "r", "radii, instead of each section's own")
	t.add(names(newValue(&o.Sizes, "SIZE,...", listOf(parseSize)), []string{"720p", "1080p", "4k", "8k"}), "size", "", "720p 1080p 4k 8k or WxH, instead of the section's own")
	t.add(newValue(&o.Kernel, "GLOB", parseKernels), "kernel", "", "kernels to time, as 'tile_*'")
	t.add(once(str(&o.Input, "FILE")), "input", "i", "video for the whole jobs (default made up)")
	t.add(names(newValue(&o.device, "NAME", parseBenchDevice), benchDevices), "device", "", "auto (default) cpu cuda cuda:1")
	t.flag(&o.Quick, "quick", "", "measure less, in some seconds")
	t.flag(&o.JSON, "json", "", "print one JSON document")
	t.add(once(str(&o.Plot, "FILE")), "plot", "", "draw the kernels' times by radius, as SVG")
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

func parseBench(args []string) (*benchOptions, error) {
	o := &benchOptions{device: device{Kind: "auto"}}
	o.Version = versionName()
	fs := o.flags()
	if err := parseArguments(fs, args); err != nil || o.Help {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, usagef("vidfilter bench -i FILE measures with a video", "unexpected argument %q", fs.Arg(0))
	}
	o.CPU, o.NeedGPU, o.Indexes = o.device.Kind == "cpu", o.device.Kind == "cuda", o.device.Indexes
	return o, o.check()
}

// check refuses options that would have no effect.
func (o *benchOptions) check() error {
	measured := func(section string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, section) }
	kernel := measured(bench.SectionKernel) && !o.CPU
	switch {
	case o.Kernel != "" && !kernel:
		return usagef("leave one of them out", "--kernel names kernels of a GPU, and none is to be measured")
	case o.Kernel != "" && !o.matches():
		return usagef("see the names that vidfilter bench --only kernel prints", "--kernel %q: no such kernel has these radii", o.Kernel)
	case o.Input != "" && !measured(bench.SectionEnd):
		return usagef("add end to --only", "--input is for whole jobs, and --only leaves them out")
	case o.Plot != "" && !kernel && !measured(bench.SectionCPU):
		return usagef("add kernel or cpu to --only", "--plot draws kernels and the CPU, and neither is to be measured")
	}
	return nil
}

// matches says whether a kernel that is named does one of the radii.
func (o *benchOptions) matches() bool {
	return slices.ContainsFunc(kernels.Variants(), func(v kernels.Variant) bool {
		named, err := path.Match(o.Kernel, v.Name)
		return err == nil && named && (len(o.Radii) == 0 || slices.ContainsFunc(o.Radii, v.TakesRadius))
	})
}

// listOf reads values that commas separate; a value that comes twice counts once.
func listOf[T comparable](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(s string) (all []T, err error) {
		for item := range strings.SplitSeq(s, ",") {
			x, err := parse(item)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
		return all, nil
	}
}

func parseSection(s string) (string, error) {
	if slices.Contains(bench.Sections(), s) {
		return s, nil
	}
	return "", unknownName(bench.Sections(), s)
}

// largestSide is the most that x264 takes.
const largestSide = 16384

func parseSize(s string) (bench.Size, error) {
	if size, ok := sizeNames[strings.ToLower(s)]; ok {
		return size, nil
	}
	w, h, ok := strings.Cut(s, "x")
	width, werr := strconv.Atoi(w)
	height, herr := strconv.Atoi(h)
	switch {
	case !ok || werr != nil || herr != nil:
		return bench.Size{}, usagef("a size is 720p, 1080p, 4k, 8k or WxH", "no such size")
	case min(width, height) < bench.MinSide || max(width, height) > largestSide || (width|height)&1 != 0:
		return bench.Size{}, usagef(fmt.Sprintf("both sides are even, %d to %d", bench.MinSide, largestSide), "no such size")
	}
	return bench.Size{Width: width, Height: height}, nil
}

func parseKernels(glob string) (string, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return "", errors.New("not a pattern")
	}
	var all []string
	for _, v := range kernels.Variants() {
		if ok, _ := path.Match(glob, v.Name); ok {
			return glob, nil
		}
		all = append(all, v.Name)
	}
	hint := "there are paper, tile_*, sliding_*, tensor_* and general_*, and those of " + kernelList
	if near := text.Closest(glob, all); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return "", usagef(hint, "no kernel has such a name")
}

// parseBenchDevice takes one device: several at a time would not say what one reaches.
func parseBenchDevice(s string) (device, error) {
	d, err := parseDevice(s)
	if err == nil && (d.All || len(d.Indexes) > 1) {
		err = usagef("measure one after another", "bench measures one GPU")
	}
	return d, err
}

func printBenchHelp(w io.Writer) error {
	fs := new(benchOptions).flags()
	_, err := io.WriteString(w, `usage: vidfilter bench [options]           measure what the filter reaches here
Sections:
  kernel   the GPU's kernels alone, beside a floor and the paper's kernel
  step     copy in, kernel, copy out, beside the bus and the paper's pipeline
  end      whole jobs beside the same decode and encode without a filter
  cpu      the CPU's filter beside the GPU's
  live     how old a camera's picture is when it goes to a viewer
What is timed is checked first; a wrong result is an error.
Options:
`+groupHelp(fs, "Options"))
	return err
}
