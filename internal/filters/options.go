// Package filters has the options that jobs, live video and the library share: the flags of
// filters, and the device.
package filters

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/kernels"
)

var metavar = map[kernels.ValueType]string{kernels.Number: "X", kernels.Whole: "N", kernels.Name: "NAME", kernels.Switch: "bool"}

// Flags adds the options of the filters of some places, which set all.
func Flags(t cli.Table, all *kernels.Selection, which func(kernels.Place) bool) {
	for _, opt := range kernels.Flags() {
		if !opt.Within(which) {
			continue
		}
		v := cli.NewValue(all, cmp.Or(opt.Metavar, metavar[opt.Kind]), func(s string) (kernels.Selection, error) { return With(*all, opt, s) })
		f := t.Add(cli.Names(v, opt.Names), opt.Name, opt.Short, opt.Usage(), cli.Excludes(opt.Rivals...))
		if opt.Basic {
			cli.Basic.Mark(f)
		}
		if opt.Kind == kernels.Switch {
			f.NoOptDefVal = "true"
		}
		if opt.Bare != "" {
			f.NoOptDefVal = opt.Bare
		}
		f.Hidden = opt.Alias
	}
}

// frameRate matches values of ffmpeg's -r.
var frameRate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+\.[0-9]+|[0-9]+/[0-9]+|1[6-9]|[2-9][0-9]|1[0-9]{2}|240)(fps)?$|^(ntsc|pal|film|ntsc-film)$`)
})

// With returns filters with one option set to a value in the syntax of flags.
func With(all kernels.Selection, opt kernels.Option, s string) (kernels.Selection, error) {
	if opt.Kind == kernels.Name {
		if opt.Set(&all, s) != nil {
			return all, cli.UnknownName(opt.Names, s)
		}
		return all, nil
	}
	var value any = s // Set's error names the valid values
	if on, err := strconv.ParseBool(s); err == nil && opt.Kind == kernels.Switch {
		value = on
	} else if x, err := cli.Number(s); err == nil && opt.Kind != kernels.Text {
		value = x
	}
	err := opt.Set(&all, value)
	switch {
	case err == nil:
	case opt.Short == "r" && frameRate().MatchString(s):
		err = cli.Usagef("-r is the radius; --fps changes the frame rate", "%v", err)
	case hint.Of(err) == "" && opt.Help != "":
		err = cli.Usagef(opt.Help, "%v", err)
	}
	return all, err
}

// Given returns the options that are set by the environment or by arguments.
func Given(fs *pflag.FlagSet, environment bool) (all []kernels.Option) {
	fs.Visit(func(f *pflag.Flag) {
		if opt, some := kernels.OptionNamed(f.Name); some && cli.FromEnvironment(f) == environment {
			all = append(all, opt)
		}
	})
	return all
}

// without returns the index of the first option that a filter lacks, -1 if it has all.
func without(filter *kernels.FilterType, all []kernels.Option) int {
	return slices.IndexFunc(all, func(o kernels.Option) bool { return !slices.Contains(o.Filters(), filter) })
}

// Choose chooses the main filter by the options that are given, unless one of them names it, and
// refuses arguments that it lacks. The environment may hold options of any filter.
func Choose(fs *pflag.FlagSet, all *kernels.Selection) error {
	given, f := Given(fs, false), fs.Lookup("filter")
	inferred := f != nil && !f.Changed
	if inferred && len(given) > 0 {
		infer(all, given)
	} else if inferred {
		infer(all, Given(fs, true))
	}
	if i := without(all.Chosen(), given); i >= 0 {
		return misplaced(fs, all.Chosen(), given, given[i], inferred)
	}
	return nil
}

// infer chooses the first filter that has all of some options, if the default lacks one.
func infer(all *kernels.Selection, given []kernels.Option) {
	for _, f := range kernels.Filters() {
		if without(all.Chosen(), given) >= 0 && without(f, given) < 0 {
			all.Choose(f)
		}
	}
}

// misplaced is the error of an option that the filter lacks. If the filter was inferred, it may be
// that no filter has opt and another of the given options.
func misplaced(fs *pflag.FlagSet, filter *kernels.FilterType, given []kernels.Option, opt kernels.Option, inferred bool) error {
	name, of := cli.FlagName(fs.Lookup(opt.Name)), opt.Filters()[0]
	disjoint := func(other kernels.Option) bool {
		return !slices.ContainsFunc(other.Filters(), func(k *kernels.FilterType) bool { return slices.Contains(opt.Filters(), k) })
	}
	if i := slices.IndexFunc(given, disjoint); inferred && i >= 0 {
		return cli.Usagef("give one of the two: a job has one filter", "%s is an option of the %s filter, %s of the %s filter",
			name, of, cli.FlagName(fs.Lookup(given[i].Name)), given[i].Filters()[0])
	}
	var has []string
	for _, other := range kernels.Flags() {
		if other.OfFilter(filter) {
			has = append(has, "--"+other.Name)
		}
	}
	hint := fmt.Sprintf("the %s filter has %s", filter, strings.Join(has, ", "))
	return cli.Usagef(hint, "%s is an option of the %s filter, not of the %s filter", name, of, filter)
}

// Settle fills in the defaults of filters, and checks the options against each other.
func Settle(all *kernels.Selection) error {
	*all = all.WithDefaults()
	if err := all.Validate(); err != nil {
		return cli.Usagef("for their values: vidfilter help options", "%v", err)
	}
	return nil
}
