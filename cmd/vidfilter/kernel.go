package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// kernelList is where people find the names of the kernels.
const kernelList = "vidfilter lab --list"

// kernelForm is what a kernel says of itself.
type kernelForm interface {
	Adapt(p kernels.Params) kernels.Params // with what it has no choice in
	Does() string
}

// findKernel returns the kernel of a name.
func findKernel(name string) (kernelForm, error) { return kernels.Named(name) }

func kernelNames() (all []string) {
	for _, v := range kernels.Variants() {
		all = append(all, v.Name)
	}
	return all
}

func parseKernel(name string) (string, error) {
	if _, err := findKernel(name); err == nil {
		return name, nil
	}
	hint := kernelList + " names them all"
	if near := text.Closest(name, kernelNames()); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return "", usagef(hint, "no kernel has this name")
}

// checkKernel gives the filter the options that the kernel is made for, and refuses what was said on the command line to the contrary. In the
// environment there may be options for jobs without a kernel.
func (o *options) checkKernel(fs *pflag.FlagSet) error {
	name := o.Params.Kernel
	if name == "" {
		return nil
	}
	k, err := findKernel(name)
	if err != nil {
		return err // parseKernel knew it
	}
	if o.Device.Kind == "cpu" {
		return usagef("leave --device out, or --kernel", "the kernel %s is for GPUs, and --device is cpu", name)
	}
	said := o.Params
	o.Params = k.Adapt(said)
	for _, c := range []struct {
		flag string
		same bool
	}{
		{"radius", said.Radius == o.Params.Radius}, {"range", said.Range == o.Params.Range},
		{"distance", said.Distance == o.Params.Distance}, {"border", said.Border == o.Params.Border},
	} {
		f := fs.Lookup(c.flag)
		if !c.same && f.Changed && f.Annotations[sourceKey] == nil {
			return usagef(fmt.Sprintf("leave --%s out, or choose another kernel: %s", c.flag, kernelList),
				"%s %s: the kernel %s does %s", flagName(f), f.Value, name, k.Does())
		}
	}
	return nil
}

// checkKernelDoes is for what does not come from one option, when all of them are known.
func (o *options) checkKernelDoes() error {
	v, err := kernels.Named(o.Params.Kernel)
	if o.Params.Kernel == "" || err != nil {
		return nil
	}
	if err := v.Refuses(o.Params); err != nil {
		return usagef("choose another kernel: "+kernelList, "%v", err)
	}
	return nil
}

// needsRGBA says whether frames are converted for the kernel that was asked for.
func (o *options) needsRGBA() bool {
	v, err := kernels.Named(o.Params.Kernel)
	return err == nil && v.FromPaper()
}

// bilateral returns the backend's filter; for a kernel of the papers, by way of RGBA, which it says.
func (j *job) bilateral() (pipeline.Filter, error) {
	p := j.o.Params
	if !j.o.needsRGBA() {
		return j.backend.Bilateral(p, j.results)
	}
	j.words = pipeline.NewPool(j.backend.Input(), 1)             // never waited for: the filter holds few
	j.filtered = pipeline.NewPool(j.backend, 1+j.backend.Held()) // and passes on at once what it gets back
	f, err := j.backend.Bilateral(p, j.filtered)
	if err != nil {
		return nil, err
	}
	return kernels.InRGBA(f, p, j.words, j.results, func(from pipeline.Format) {
		j.ui.info("%s filters RGBA: frames are converted from %s and back", p.Kernel, from.Layout)
	}), nil
}
