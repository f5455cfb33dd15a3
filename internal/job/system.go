package job

import (
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/kernels"
)

// SystemList lists the names of systems.
const SystemList = "vidfilter lab --list"

// System filters instead of the program's own choice. The lab has some.
type System interface {
	Name() string
	Does() string
	OnGPU() bool
	Threads() int // most threads on the CPU; 0: any number

	// Adapt sets options that the system has no choice in.
	Adapt(p kernels.Params) kernels.Params
	// Refuses returns the reason why the system cannot do p, or nil.
	Refuses(p kernels.Params) error
	// Open opens the system's device. threads is for the CPU, 0: as many as it can use.
	Open(devices gpu.Options, threads int, log *slog.Logger) (kernels.Backend, error)
}

// adaptToSystem sets filter options that the system has no choice in, and refuses arguments that
// contradict it. Variables of the environment may be meant for other jobs.
func (o *Options) adaptToSystem(fs *pflag.FlagSet) error {
	if err := o.checkPlace(fs); err != nil {
		return err
	}
	given := o.Params
	o.Params = o.System.Adapt(given)
	// The defaults of given's filter do not count.
	o.Params.Iterations, o.Params.SigmaS, o.Params.SigmaR = given.Iterations, given.SigmaS, given.SigmaR
	for _, c := range []struct {
		flag string
		same bool
	}{
		{"filter", given.Filter == o.Params.Filter},
		{"radius", o.Params.Filter != kernels.Bilateral || given.Radius == o.Params.Radius},
		{"range", given.Range == o.Params.Range},
		{"distance", given.Distance == o.Params.Distance},
		{"border", given.Border == o.Params.Border},
	} {
		if f := fs.Lookup(c.flag); !c.same && f.Changed && !cli.FromEnvironment(f) {
			return cli.Usagef(fmt.Sprintf("leave --%s out, or choose another system: %s", c.flag, SystemList),
				"%s %s: %s does %s", cli.FlagName(f), f.Value, o.System.Name(), o.System.Does())
		}
	}
	return nil
}

// checkPlace refuses a device that the system does not run on, and too many threads unless the
// environment asks for them.
func (o *Options) checkPlace(fs *pflag.FlagSet) error {
	const hint = "leave %s out, or choose another system: " + SystemList
	name, onGPU := o.System.Name(), o.System.OnGPU()
	device, threads := cli.Source(fs, "device"), cli.Source(fs, "threads")
	most := o.System.Threads()
	switch {
	case onGPU && o.Device.Kind == "cpu":
		return cli.Usagef(fmt.Sprintf(hint, device), "%s runs on a GPU, and %s is cpu", name, device)
	case !onGPU && o.Device.Kind == "cuda":
		return cli.Usagef(fmt.Sprintf(hint, device), "%s runs on the CPU, and %s is cuda", name, device)
	case most > 0 && o.Threads > most && threads != "--threads":
		o.Threads = most
	case most > 0 && o.Threads > most:
		return cli.Usagef("leave --threads out", "%s is a program with %d thread, and --threads is %d", name, most, o.Threads)
	}
	return nil
}

func (o *Options) openSystem(u *cli.UI) (kernels.Backend, error) {
	b, err := o.System.Open(o.gpuOptions(u), o.Threads, u.Logger)
	if err != nil {
		return nil, o.otherwise(err)
	}
	u.Debugf("filtering on %s", b.Name())
	return b, nil
}
