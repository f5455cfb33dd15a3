package stream

import (
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/internal/hint"
	"vidfilter/kernels"
	_ "vidfilter/repair" // registers its option, as internal/stages does others
)

// options of a stream: the filters, and where they run.
type options struct {
	filters kernels.Selection
	device  filters.DeviceChoice
	threads int
}

// parse reads options as the program does, in the form NAME=VALUE:NAME=VALUE. A switch may stand
// alone.
func parse(text string) (o options, err error) {
	const help = "vidfilter help options"
	o.device.Kind = "auto"
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "")
	filters.Flags(t, &o.filters, func(kernels.Place) bool { return true })
	t.Add(filters.NewDevice(&o.device), "device", "", "")
	t.Add(cli.NewValue(&o.threads, "N", cli.IntIn(0, filters.MaxThreads)), "threads", "", "")
	args, err := arguments(fs, text)
	if err != nil {
		return o, err
	}
	for _, check := range []func() error{
		func() error { return cli.ParseArguments(fs, args, help) },
		func() error { return cli.CheckExcluded(fs) },
		func() error { return filters.Choose(fs, &o.filters) },
		func() error { return filters.Settle(&o.filters) },
	} {
		if err := check(); err != nil {
			return o, err
		}
	}
	return o, nil
}

// arguments returns options as arguments of the program. A part without a name belongs to the value
// before it, as in device=cuda:0.
func arguments(fs *pflag.FlagSet, text string) (all []string, err error) {
	if text == "" {
		return nil, nil
	}
	for i, part := range strings.Split(text, ":") {
		name, _, assigned := strings.Cut(part, "=")
		switch {
		case strings.TrimLeft(name, "-") != name || name == "":
			return nil, hint.Errorf("NAME=VALUE:NAME=VALUE, as strength=1:quality=good", "options %q: %q is no option", text, part)
		case i > 0 && !assigned && fs.Lookup(name) == nil:
			all[len(all)-1] += ":" + part
		default:
			all = append(all, "--"+part)
		}
	}
	return all, nil
}
