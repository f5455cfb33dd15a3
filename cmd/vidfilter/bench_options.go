package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/kernels"
	"vidfilter/lab/bench"
)

// benchOptions are the options of vidfilter bench.
type benchOptions struct {
	bench.Options
	printing
	device filters.DeviceChoice
}

var (
	benchDevices = []string{"auto", "cpu", "cuda"}
	sizeNames    = map[string]bench.Size{
		"720p": {Width: 1280, Height: 720}, "1080p": {Width: 1920, Height: 1080},
		"4k": {Width: 3840, Height: 2160}, "8k": {Width: 7680, Height: 4320},
	}
)

// flags returns the flag set that writes into o, for parsing, help and completions.
func (o *benchOptions) flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	t.Add(cli.Names(cli.NewValue(&o.Only, "NAME,...", listOf(cli.NameIn(bench.Sections()))), bench.Sections()), "only", "", "sections to measure (default all)")
	t.Add(cli.NewValue(&o.Radii, "N,...", listOf(cli.IntIn(0, kernels.MaxRadius))), "radius", "r", "radii of the bilateral filter, instead of each section's own")
	t.Add(cli.Names(cli.NewValue(&o.Sizes, "SIZE,...", listOf(parseSize)), []string{"720p", "1080p", "4k", "8k"}), "size", "", "720p 1080p 4k 8k or WxH, instead of the section's own")
	t.Add(cli.NewValue(&o.Kernel, "GLOB", parseKernels), "kernel", "", "kernels to time, as 'tile_*'")
	t.Add(cli.Once(cli.String(&o.Input, "FILE")), "input", "i", "video for the whole jobs (default made up)")
	t.Add(cli.Names(cli.NewValue(&o.device, "NAME", parseBenchDevice), benchDevices), "device", "", "auto (default) cpu cuda cuda:1")
	t.Flag(&o.Verbose, "verbose", "v", "list the denoiser's kernels on the GPU")
	t.Flag(&o.Quick, "quick", "", "measure less, in some seconds")
	t.Flag(&o.JSON, "json", "", "print one JSON document")
	return fs
}

func newBenchOptions() *benchOptions {
	o := &benchOptions{device: filters.DeviceChoice{Kind: "auto"}}
	o.Version = cli.Version()
	return o
}

// resolve sets the options of package bench, and refuses options without effect.
func (o *benchOptions) resolve() error {
	o.CPU, o.NeedGPU, o.Indexes = o.device.Kind == "cpu", o.device.Kind == "cuda", o.device.Indexes
	measured := func(section string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, section) }
	kernel := measured(bench.SectionKernel) && !o.CPU
	switch {
	case o.Kernel != "" && !kernel:
		return cli.Usagef("leave one of them out", "--kernel names kernels of a GPU, and none is to be measured")
	case o.Kernel != "" && !o.matches():
		return cli.Usagef("see the names that vidfilter bench --only kernel prints", "--kernel %q: no such kernel has these radii", o.Kernel)
	case o.Input != "" && !measured(bench.SectionEnd):
		return cli.Usagef("add end to --only", "--input is for whole jobs, and --only leaves them out")
	}
	return nil
}

// matches reports whether a named kernel takes one of the radii.
func (o *benchOptions) matches() bool {
	return slices.ContainsFunc(kernels.Variants(), func(v kernels.Variant) bool {
		named, err := path.Match(o.Kernel, v.Name)
		return err == nil && named && (len(o.Radii) == 0 || slices.ContainsFunc(o.Radii, v.TakesRadius))
	})
}

// listOf parses values separated by commas, and drops repeated ones.
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

// largestSide is x264's limit.
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
		return bench.Size{}, cli.Usagef("a size is 720p, 1080p, 4k, 8k or WxH", "no such size")
	case min(width, height) < bench.MinSide || max(width, height) > largestSide || (width|height)&1 != 0:
		return bench.Size{}, cli.Usagef(fmt.Sprintf("both sides are even, %d to %d", bench.MinSide, largestSide), "no such size")
	}
	return bench.Size{Width: width, Height: height}, nil
}

func parseKernels(glob string) (string, error) {
	var all []string
	for _, v := range kernels.Variants() {
		all = append(all, v.Name)
	}
	return glob, checkGlob(glob, all, "there are tile_*, sliding_*, tensor_* and general_*",
		"no kernel has such a name")
}

// checkGlob returns a usage error if a pattern is malformed or matches no name.
func checkGlob(glob string, names []string, hint, none string) error {
	if _, err := path.Match(glob, ""); err != nil {
		return errors.New("not a pattern")
	}
	if slices.ContainsFunc(names, func(name string) bool { ok, _ := path.Match(glob, name); return ok }) {
		return nil
	}
	return cli.Usagef(cli.WithNearest(hint, glob, names), "%s", none)
}

// parseBenchDevice accepts a single device: times of several together describe no device.
func parseBenchDevice(s string) (filters.DeviceChoice, error) {
	d, err := filters.ParseDevice(s)
	if err == nil && (d.All || len(d.Indexes) > 1) {
		err = cli.Usagef("measure one after another", "bench measures one GPU")
	}
	return d, err
}
