package main

import (
	"slices"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/lab"
	"vidfilter/lab/quality"
)

// labOptions are the options of vidfilter lab.
type labOptions struct {
	lab.Options
	printing
	device filters.DeviceChoice
	List   bool
	From   string

	Quality bool // measure the denoiser instead
	quality quality.Options

	render renderOptions
}

const (
	labGroup     = "Options"
	renderGroup  = "Options of -i and -o"
	qualityGroup = "Options of --quality"
)

// flags returns flags that set o.
func (o *labOptions) flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, labGroup)
	t.Add(cli.Names(cli.NewValue(&o.Papers, "ID,...", o.addPapers), lab.PaperIDs()), "paper", "", "of this paper only; may be repeated")
	t.Add(cli.NewValue(&o.Kernel, "GLOB", parseLabKernels), "kernel", "", "systems to time, as 'thesis_4*'")
	t.Add(cli.Names(cli.NewValue(&o.device, "NAME", parseBenchDevice), benchDevices), "device", "", "auto (default) cpu cuda cuda:1")
	t.Flag(&o.Quick, "quick", "", "fewer radii and repetitions")
	t.Add(cli.NewValue(&o.Shrink, "N", cli.IntIn(1, 64)), "shrink", "", "divide the pictures' sides, 1 to 64 (default 1)")
	t.Flag(&o.List, "list", "", "list the variants, without measuring")
	t.Flag(&o.JSON, "json", "", "print one JSON document")
	t.Flag(&o.Markdown, "markdown", "", "print the tables for a page")
	t.Add(cli.Once(cli.String(&o.From, "FILE")), "from", "", "print a file of --json")
	o.render.addFlags(fs)
	q := cli.NewTable(fs, qualityGroup)
	q.Flag(&o.Quality, "quality", "", "measure the denoiser on CLIPS or drawn clips, beside ffmpeg's")
	q.Add(cli.Names(cli.NewValue(&o.quality.Noise, "KIND,...", listOf(cli.NameIn(quality.KindNames()))), quality.KindNames()), "noise", "", "kinds of noise to add (default all; not to CLIPS)")
	q.Add(cli.NewValue(&o.quality.Clips, "GLOB", parseClips), "clips", "", "drawn clips (default 'proof/*'), as 'tuning/*'")
	q.Add(cli.Once(cli.String(&o.quality.Truth, "FILE")), "truth", "", "compare CLIPS with this clean video of the same pictures")
	q.Add(cli.NewValue(&o.quality.Methods, "GLOB", parseMethods), "rivals", "", "filters beside ours, as 'nlmeans'; '*' all")
	q.Add(cli.Once(cli.String(&o.quality.Crops, "DIR")), "crops", "", "draw crops there: before, good, best rival")
	return fs
}

// addPapers appends to the papers given before.
func (o *labOptions) addPapers(s string) ([]string, error) {
	more, err := listOf(cli.NameIn(lab.PaperIDs()))(s)
	more = slices.DeleteFunc(more, func(id string) bool { return slices.Contains(o.Papers, id) })
	return append(o.Papers, more...), err
}

func newLabOptions() *labOptions {
	o := &labOptions{device: filters.DeviceChoice{Kind: "auto"}}
	o.Version = cli.Version()
	return o
}

// resolve sets the options of package lab, and refuses options without effect.
func (o *labOptions) resolve(fs *pflag.FlagSet) error {
	o.CPU, o.NeedGPU, o.Indexes = o.device.Kind == "cpu", o.device.Kind == "cuda", o.device.Indexes
	const leave = "leave one of them out"
	if f := onlyOfRender(fs); f != nil {
		return cli.Usagef("vidfilter lab --kernel NAME -i in.mp4 -o out.mp4", "%s does nothing without -i and -o", cli.FlagName(f))
	}
	if err := o.resolveQuality(fs); err != nil {
		return err
	}
	if o.JSON && o.Markdown {
		return cli.Usagef(leave, "--json and --markdown are two forms of one report")
	}
	for _, mode := range []struct {
		flag string
		on   bool
		not  []string
	}{
		{"list", o.List, []string{"from", "markdown", "quick", "shrink", "kernel"}},
		{"from", o.From != "", []string{"device", "quick", "shrink", "kernel", "paper"}},
	} {
		for _, flag := range mode.not {
			if mode.on && fs.Changed(flag) {
				return cli.Usagef(leave, "--%s does nothing beside --%s, which measures nothing", flag, mode.flag)
			}
		}
	}
	if !o.List && o.Kernel != "" && !lab.Any(o.Papers, o.Kernel, o.CPU) {
		return cli.Usagef("see "+listSystems, "--kernel %q: none of the variants that would be measured has such a name", o.Kernel)
	}
	return nil
}

// onlyOfRender returns a given option that serves -i and -o alone, or nil.
func onlyOfRender(fs *pflag.FlagSet) (given *pflag.Flag) {
	fs.Visit(func(f *pflag.Flag) {
		if cli.GroupOf(f) == renderGroup {
			given = f
		}
	})
	return given
}

func parseLabKernels(glob string) (string, error) {
	return glob, checkGlob(glob, systemNames(), listSystems+" names them", "no variant has such a name")
}
