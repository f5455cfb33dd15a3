package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/kernels"
	"vidfilter/live"
)

func (o *Options) filterFlags(t cli.Table) {
	o.PictureFlags(t)
	o.noiseFlags(t)
	t.Add(cli.OneOf(&o.Compare, CompareNames), "compare", "", "side or split: show original and filtered")
}

// PictureFlags are the options of the picture, for jobs and live.
func (o *Options) PictureFlags(t cli.Table) {
	for _, opt := range kernels.Flags() {
		v := cli.NewValue(&o.Params, metavar[opt.Kind], func(s string) (kernels.Params, error) { return o.withFilterOption(opt, s) })
		f := t.Add(cli.Names(v, opt.Names), opt.Name, opt.Short, opt.Usage())
		if opt.Kind == kernels.Switch {
			f.NoOptDefVal = "true"
		}
		f.Hidden = opt.Alias
	}
	t.Add(cli.OneOf(&o.FieldOrder, live.FieldOrder.Names), live.FieldOrder.Name, "", live.FieldOrder.Usage())
}

var metavar = map[kernels.Kind]string{kernels.Number: "X", kernels.Whole: "N", kernels.Name: "NAME", kernels.Switch: "bool"}

// withFilterOption returns the parameters with one option set.
func (o *Options) withFilterOption(opt kernels.Option, s string) (kernels.Params, error) {
	p := o.Params
	if opt.Kind == kernels.Name {
		if opt.Set(&p, s) != nil {
			return p, cli.UnknownName(opt.Names, s)
		}
		return p, nil
	}
	var value any = s // Set's error names the valid values
	if on, err := strconv.ParseBool(s); err == nil && opt.Kind == kernels.Switch {
		value = on
	} else if x, err := cli.Number(s); err == nil {
		value = x
	}
	err := opt.Set(&p, value)
	switch {
	case err == nil:
	case opt.Short == "r" && frameRate.MatchString(s):
		err = cli.Usagef("in vidfilter -r is the radius; the frame rate is always the input's", "%v", err)
	case opt.Help != "":
		err = cli.Usagef(opt.Help, "%v", err)
	}
	return p, err
}

// FilterGiven reports whether an option of a filter has been given.
func FilterGiven(fs *pflag.FlagSet) (given bool) {
	fs.Visit(func(f *pflag.Flag) {
		_, some := kernels.OptionNamed(f.Name)
		given = given || some || f.Name == live.FieldOrder.Name
	})
	return given
}

// CheckFilter fills in the defaults of the filter, and refuses arguments that do not apply to it.
// The environment may hold options of any filter.
func (o *Options) CheckFilter(fs *pflag.FlagSet) (err error) {
	o.inferFilter(fs)
	fs.Visit(func(f *pflag.Flag) {
		opt, some := kernels.OptionNamed(f.Name)
		if _, ok := opt.In(o.Params.Filter); !some || ok || cli.FromEnvironment(f) || err != nil {
			return
		}
		of := opt.Filters()[0]
		if other := o.foreign(fs, opt); other != "" {
			err = cli.Usagef("give one of the two: a job has one filter",
				"%s is an option of the %s filter, %s filter", cli.FlagName(f), of, other)
			return
		}
		hint := fmt.Sprintf("the %s filter has %s", o.Params.Filter, strings.Join(filterFlags(o.Params.Filter), ", "))
		err = cli.Usagef(hint, "%s is an option of the %s filter, not of the %s filter", cli.FlagName(f), of, o.Params.Filter)
	})
	if err != nil {
		return err
	}
	o.Params = o.Params.WithDefaults()
	if err := o.Params.Validate(); err != nil {
		return cli.Usagef("for their values: "+optionsHelp, "%v", err)
	}
	if only := fs.Lookup("luma-only"); only != nil && only.Value.String() == "true" && o.Params.Chroma != 0 {
		return cli.Usagef("give one of them", "--luma-only and --chroma exclude each other")
	}
	return o.checkNoise()
}

// foreign returns an argument that no filter has beside opt, and whose it is; "" for none or if the
// filter is given.
func (o *Options) foreign(fs *pflag.FlagSet, opt kernels.Option) (name string) {
	if f := fs.Lookup("filter"); f == nil || f.Changed {
		return ""
	}
	fs.Visit(func(f *pflag.Flag) {
		other, some := kernels.OptionNamed(f.Name)
		shared := func(k kernels.Filter) bool { return slices.Contains(opt.Filters(), k) }
		if some && !cli.FromEnvironment(f) && !slices.ContainsFunc(other.Filters(), shared) {
			name = cmp.Or(name, fmt.Sprintf("%s of the %s", cli.FlagName(f), other.Filters()[0]))
		}
	})
	return name
}

// inferFilter chooses the filter that has all options given, unless the filter itself is given.
// Arguments come before the environment.
func (o *Options) inferFilter(fs *pflag.FlagSet) {
	if f := fs.Lookup("filter"); f == nil || f.Changed {
		return
	}
	for _, environment := range []bool{false, true} {
		given := 0
		fits := map[kernels.Filter]int{}
		fs.Visit(func(f *pflag.Flag) {
			opt, some := kernels.OptionNamed(f.Name)
			if !some || cli.FromEnvironment(f) != environment {
				return
			}
			given++
			for _, filter := range opt.Filters() {
				fits[filter]++
			}
		})
		if given == 0 {
			continue
		}
		for i := range kernels.FilterNames() {
			if filter := kernels.Filter(i); fits[o.Params.Filter] < given && fits[filter] == given {
				o.Params.Filter = filter
			}
		}
		return
	}
}

// filterFlags lists the options that a filter shares with some others, or has alone.
func filterFlags(filter kernels.Filter) (all []string) {
	for _, opt := range kernels.Flags() {
		if _, ok := opt.Domains[filter]; ok {
			all = append(all, "--"+opt.Name)
		}
	}
	return all
}
