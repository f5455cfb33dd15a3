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

// findKernel returns the CUDA kernel of a name, or the papers' CPU form.
func findKernel(name string) (kernelForm, error) {
	if v, err := kernels.Named(name); err == nil {
		return v, nil
	}
	return kernels.NamedCPU(name)
}

func kernelNames() (all []string) {
	for _, v := range kernels.Variants() {
		all = append(all, v.Name)
	}
	for _, v := range kernels.CPUVariants() {
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
	if err := o.checkPlace(k, fs); err != nil {
		return err
	}
	said := o.Params
	o.Params = k.Adapt(said)
	o.Params.Kernel, o.Params.Iterations = name, said.Iterations
	o.Params.SigmaS, o.Params.SigmaR = said.SigmaS, said.SigmaR // not of a filter that was not asked for
	for _, c := range []struct {
		flag string
		same bool
	}{
		{"filter", said.Filter == o.Params.Filter},
		{"radius", o.Params.Filter != kernels.Bilateral || said.Radius == o.Params.Radius},
		{"range", said.Range == o.Params.Range}, {"distance", said.Distance == o.Params.Distance}, {"border", said.Border == o.Params.Border},
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

// checkPlace refuses a device that the kernel is not for, and more threads than the program of a paper has, unless they are in the environment.
func (o *options) checkPlace(k kernelForm, fs *pflag.FlagSet) error {
	name := o.Params.Kernel
	const hint = "leave %s out, or --kernel"
	device, threads := source(fs, "device"), source(fs, "threads")
	switch v, ofCPU := k.(kernels.CPUVariant); {
	case !ofCPU && o.Device.Kind == "cpu":
		return usagef(fmt.Sprintf(hint, device), "the kernel %s is for GPUs, and %s is cpu", name, device)
	case ofCPU && o.Device.Kind == "cuda":
		return usagef(fmt.Sprintf(hint, device), "the kernel %s is for the CPU, and %s is cuda", name, device)
	case ofCPU && v.Threads > 0 && o.Threads > v.Threads:
		if threads != "--threads" {
			o.Threads = v.Threads
			break
		}
		return usagef("leave --threads out", "the kernel %s is a program of %d thread, and --threads is %d", name, v.Threads, o.Threads)
	}
	return nil
}

// cpuForm says whether the kernel that was asked for is one of the papers' CPU forms.
func (o *options) cpuForm() bool {
	_, err := kernels.NamedCPU(o.Params.Kernel)
	return err == nil
}

// needsRGBA says whether frames are converted for the kernel that was asked for.
func (o *options) needsRGBA() bool {
	v, err := kernels.Named(o.Params.Kernel)
	return o.cpuForm() || err == nil && v.FromPaper()
}

// named returns the backend's filter; for a kernel of the papers, by way of RGBA, which it says.
func (j *job) named() (pipeline.Filter, error) {
	p := j.o.Params
	if !j.o.needsRGBA() {
		return j.backend.Filter(p, j.results)
	}
	j.words = pipeline.NewPool(j.backend.Input(), 1)             // never waited for: the filter holds few
	j.filtered = pipeline.NewPool(j.backend, 1+j.backend.Held()) // and passes on at once what it gets back
	f, err := j.backend.Filter(p, j.filtered)
	if err != nil {
		return nil, err
	}
	return kernels.InRGBA(f, p, j.words, j.results, func(from pipeline.Format) {
		j.ui.info("%s filters RGBA: frames are converted from %s and back", p.Kernel, from.Layout)
	}), nil
}
