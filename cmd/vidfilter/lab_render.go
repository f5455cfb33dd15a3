package main

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/lab"
)

// listSystems is the command that names the systems.
const listSystems = "vidfilter lab --list"

// renderOptions are the options of -i and -o, which filter a file by one system.
type renderOptions struct {
	lab.Rendering
	given     kernels.Selection
	output    string
	overwrite bool
	sandbox   string
}

// systemOptions are the filter options that systems have.
var systemOptions = []string{"radius", "sigma-s", "sigma-r", "iterations"}

func (r *renderOptions) addFlags(fs *pflag.FlagSet) {
	t := cli.NewTable(fs, renderGroup)
	t.Add(cli.Once(cli.String(&r.Input, "FILE")), "input", "i", "video or picture that --kernel NAME filters")
	t.Add(cli.Once(cli.String(&r.output, "FILE")), "output", "o", "file to write")
	t.Flag(&r.overwrite, "overwrite", "y", "replace an existing output")
	for _, name := range systemOptions {
		opt, _ := kernels.OptionNamed(name)
		t.Add(cli.NewValue(&r.given, "X", func(s string) (kernels.Selection, error) {
			p := r.given
			x, err := cli.Number(s)
			if err == nil {
				err = opt.Set(&p, x)
			}
			return p, err
		}), name, opt.Short, opt.Usage())
	}
	t.Add(cli.NewValue(&r.Threads, "N", cli.IntIn(0, filters.MaxThreads)), "threads", "", "of a CPU system; 0 (default) uses all cores")
	job.SandboxFlag(t, &r.sandbox)
}

// renders reports whether -i and -o ask for a file filtered by one system, instead of measurements.
func (o *labOptions) renders() bool { return o.render.Input != "" || o.render.output != "" }

// resolveRender finds the system that --kernel names, and checks that it has the given options.
func (o *labOptions) resolveRender(fs *pflag.FlagSet) error {
	r := &o.render
	var ok bool
	switch r.Format, ok = formats.ByEnding(path.Ext(r.output)); {
	case o.Kernel == "":
		return cli.Usagef(listSystems+" names the systems", "--kernel NAME is missing: -i and -o filter by one system")
	case r.Input == "" || r.output == "":
		return cli.Usagef("vidfilter lab --kernel NAME -i in.mp4 -o out.mp4", "give both -i FILE and -o FILE")
	case !ok:
		return cli.Usagef("name a file such as out.mp4 or out.png", "-o %s: the ending names no format", r.output)
	}
	var err error
	if r.System, err = lab.SystemNamed(o.Kernel); err != nil {
		return cli.Usagef(cli.WithNearest(listSystems+" names them all", o.Kernel, systemNames()), "--kernel %q: no system has this name", o.Kernel)
	}
	if err := o.checkPlace(); err != nil {
		return err
	}
	p := r.given
	p.Choose(r.System.Filter())
	p.Put(r.System.Adapt(p.Main().(kernels.Planned)))
	const hint = "leave it out, or choose another system: " + listSystems
	for _, name := range systemOptions {
		opt, _ := kernels.OptionNamed(name)
		if _, has := opt.In(p.Chosen()); !has && fs.Changed(name) {
			return cli.Usagef(hint, "%s is an option of the %s filter, and %s does %s", cli.FlagName(fs.Lookup(name)), opt.Filters()[0], o.Kernel, r.System.Does())
		}
	}
	if fs.Changed("radius") {
		radius := kernels.Of[kernels.Bilateral](r.given).Radius
		kernels.Edit(&p, func(b *kernels.Bilateral) { b.Radius = radius })
	}
	r.Params = p.WithDefaults().Main().(kernels.Planned)
	if err := cmp.Or(kernels.Validate(r.Params), r.System.Refuses(r.Params)); err != nil {
		return cli.Usagef(hint, "%v", err)
	}
	return nil
}

// checkPlace refuses a device that the system does not run on, and too many threads.
func (o *labOptions) checkPlace() error {
	r := &o.render
	const hint = "leave %s out, or choose another system: " + listSystems
	switch most := r.System.Threads(); {
	case r.System.OnGPU() && o.device.Kind == "cpu":
		return cli.Usagef(fmt.Sprintf(hint, "--device"), "%s runs on a GPU, and --device is cpu", o.Kernel)
	case !r.System.OnGPU() && o.device.Kind == "cuda":
		return cli.Usagef(fmt.Sprintf(hint, "--device"), "%s runs on the CPU, and --device is cuda", o.Kernel)
	case r.System.OnGPU() && r.Threads > 0:
		return cli.Usagef(fmt.Sprintf(hint, "--threads"), "%s runs on a GPU, and --threads is of the CPU", o.Kernel)
	case most > 0 && r.Threads > most:
		return cli.Usagef("leave --threads out", "%s is a program with %d thread, and --threads is %d", o.Kernel, most, r.Threads)
	}
	r.Indexes = o.device.Indexes
	return nil
}

// runRender filters a file in the sandbox.
func (a *app) runRender(cmd *cobra.Command, o *labOptions, s terminal.Stdio) error {
	r := &o.render
	if err := o.resolveRender(cmd.Flags()); err != nil {
		return err
	}
	if a.guards(cmd) {
		code, err := a.runChild(&child{about: r.Input, signals: true})
		a.code = code
		return err
	}
	warnWithoutSandbox(r.sandbox, s)
	var err error
	if r.Output, err = target.Prepare(r.output, job.ReplaceIf(r.overwrite), []string{r.Input}); err != nil {
		return err
	}
	r.Log = terminal.NewLogger(s.Err, false)
	r.Enter = func() error {
		return job.EnterSandbox(sandbox.Policy{Write: []string{r.Output.Path()}}, r.DecodeOptions(), r.Input)
	}
	frames, err := interruptibly(func(ctx context.Context) (int64, error) { return lab.Render(ctx, r.Rendering) })
	if err != nil {
		_ = r.Output.Discard()
		if r.System.OnGPU() {
			err = explainDevice(err, fmt.Sprintf("%s runs on a GPU; choose a system of the CPU: %s", o.Kernel, listSystems))
		}
		return err
	}
	r.Log.Info(fmt.Sprintf("%s filtered %d frames", o.Kernel, frames))
	return nil
}

// systemNames lists the papers' systems and the program's kernels.
func systemNames() []string {
	all := lab.Names()
	for _, v := range kernels.Variants() {
		all = append(all, v.Name)
	}
	return all
}
