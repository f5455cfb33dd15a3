package main

import (
	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/job"
	"vidfilter/kernels"
	"vidfilter/lab"
)

// renders reports whether -i and -o ask for a job by one system, instead of measurements.
func (o *labOptions) renders() bool { return o.job.Input != "" || o.job.Output != "" }

// completeJob gives the job the system that --kernel names, and the rest of its options.
func (o *labOptions) completeJob(fs *pflag.FlagSet, env []string) error {
	if o.Kernel == "" {
		return cli.Usagef(job.SystemList+" names the systems", "--kernel NAME is missing: -i and -o filter by one system")
	}
	system, err := findSystem(o.Kernel)
	if err != nil {
		return err
	}
	o.job.System = system
	if err := cli.ApplyEnvironment(o.jobFlags, env); err != nil {
		return err
	}
	o.job.Device = o.device
	return o.job.Resolve(fs)
}

func findSystem(name string) (lab.System, error) {
	system, err := lab.SystemNamed(name)
	if err == nil {
		return system, nil
	}
	hint := cli.WithNearest(job.SystemList+" names them all", name, systemNames())
	return system, cli.Usagef(hint, "--kernel %q: no system has this name", name)
}

// systemNames lists the papers' systems and the program's kernels.
func systemNames() []string {
	all := lab.Names()
	for _, v := range kernels.Variants() {
		all = append(all, v.Name)
	}
	return all
}
