package main

import (
	"errors"
	"io"
	"path"
	"slices"

	"github.com/spf13/pflag"

	"vidfilter/internal/text"
	"vidfilter/lab"
)

// labOptions are the choices of vidfilter lab.
type labOptions struct {
	lab.Options
	device   device
	List     bool
	JSON     bool
	Markdown bool
	From     string
	Plot     string
	Help     bool
}

// flags returns the flag set that writes into o: what parsing, help and completions are made from.
func (o *labOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter lab", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Options"}
	t.add(names(newValue(&o.Papers, "ID,...", o.addPapers), lab.PaperIDs()), "paper", "", "of this paper only; may be repeated")
	t.add(newValue(&o.Kernel, "GLOB", parseLabKernels), "kernel", "", "variants to time, as 'thesis_4*'")
	t.add(names(newValue(&o.device, "NAME", parseBenchDevice), benchDevices), "device", "", "auto (default) cpu cuda cuda:1")
	t.flag(&o.Quick, "quick", "", "fewer radii and repetitions")
	t.add(newValue(&o.Shrink, "N", intIn(1, 64)), "shrink", "", "divide the pictures' sides, 1 to 64 (default 1)")
	t.flag(&o.List, "list", "", "list the variants and what they do; measure nothing")
	t.flag(&o.JSON, "json", "", "print one JSON document")
	t.flag(&o.Markdown, "markdown", "", "print the tables for a page")
	t.add(once(str(&o.From, "FILE")), "from", "", "print and draw what --json wrote; measure nothing")
	t.add(once(str(&o.Plot, "DIR")), "plot", "", "draw each experiment there, as SVG")
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

// addPapers reads papers in addition to those before.
func (o *labOptions) addPapers(s string) ([]string, error) {
	more, err := listOf(func(id string) (string, error) {
		if slices.Contains(lab.PaperIDs(), id) {
			return id, nil
		}
		return "", unknownName(lab.PaperIDs(), id)
	})(s)
	for _, id := range o.Papers {
		more = slices.DeleteFunc(more, func(other string) bool { return other == id })
	}
	return append(o.Papers, more...), err
}

func parseLab(args []string) (*labOptions, error) {
	o := &labOptions{device: device{Kind: "auto"}}
	o.Version = versionName()
	fs := o.flags()
	if err := parseArguments(fs, args); err != nil || o.Help {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, usagef("vidfilter lab --paper 004 runs one paper's", "unexpected argument %q", fs.Arg(0))
	}
	o.CPU, o.NeedGPU, o.Indexes = o.device.Kind == "cpu", o.device.Kind == "cuda", o.device.Indexes
	return o, o.check(fs)
}

// check refuses options that would have no effect.
func (o *labOptions) check(fs *pflag.FlagSet) error {
	const leave = "leave one of them out"
	if o.JSON && o.Markdown {
		return usagef(leave, "--json and --markdown are two forms of one report")
	}
	for _, mode := range []struct {
		flag string
		on   bool
		not  []string
	}{
		{"list", o.List, []string{"from", "markdown", "plot", "quick", "shrink", "kernel"}},
		{"from", o.From != "", []string{"device", "quick", "shrink", "kernel", "paper"}},
	} {
		for _, flag := range mode.not {
			if mode.on && fs.Changed(flag) {
				return usagef(leave, "--%s does nothing beside --%s, which measures nothing", flag, mode.flag)
			}
		}
	}
	if !o.List && o.Kernel != "" && !lab.Any(o.Papers, o.Kernel, o.CPU) {
		return usagef("see vidfilter lab --list", "--kernel %q: none of the variants that would be measured has such a name", o.Kernel)
	}
	return nil
}

func parseLabKernels(glob string) (string, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return "", errors.New("not a pattern")
	}
	all := lab.Names()
	if slices.ContainsFunc(all, func(name string) bool { ok, _ := path.Match(glob, name); return ok }) {
		return glob, nil
	}
	hint := "vidfilter lab --list names them"
	if near := text.Closest(glob, all); near != "" {
		hint = "did you mean \"" + near + "\"? " + hint
	}
	return "", usagef(hint, "no variant has such a name")
}

func printLabHelp(w io.Writer) error {
	fs := new(labOptions).flags()
	_, err := io.WriteString(w, `usage: vidfilter lab [options]             the papers' experiments, run here
Papers:
  000   a thesis: 512x512, 1920x1080, 5522x3651, radius 1 to 15; versions 0 to 8
  001   Akers: 4K and 8K video, radius 1; C, threads, CUDA streams, memory
  002   Ferreira et al.: recursive Gaussian, 256 to 2048 squared; error by kappa
  003   Agarwal et al.: pair-symmetric, 3000x3000 and 768x512; cores of the CPU
  004   Staal: GPU_v1 to v8, 2 megapixels, radius 4 and 10
Tables have the papers' figures beside those of this machine. What is timed is
checked first; a wrong result is an error. Without a GPU its rows are left out.
Options:
`+groupHelp(fs, "Options")+`Examples:
  vidfilter lab --paper 004 --quick
  vidfilter lab --json >here.json
  vidfilter lab --from here.json --markdown --plot plots
  vidfilter lab --list --paper 000
`)
	return err
}
