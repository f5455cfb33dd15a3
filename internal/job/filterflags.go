package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/kernels"
)

func (o *Options) filterFlags(t cli.Table) {
	o.PictureFlags(t, func(kernels.Place) bool { return true })
	t.Add(cli.NewValue(&o.NoiseFrom, "TIME,BOX", parseNoiseFrom), "noise-from", "", "measure at TIME, or in TIME,X,Y,W,H", cli.Excludes("noise", "noise-profile"))
	t.Add(cli.OneOf(&o.Compare, CompareNames), "compare", "", "side or split: show original and filtered", oneFilter.because("shows the original beside the result"))
}

// PictureFlags are the options of the picture, for jobs and live: those of filters of some places.
func (o *Options) PictureFlags(t cli.Table, which func(kernels.Place) bool) {
	o.live = !which(kernels.PlaceDeinterlace)
	t.Add(cli.OneOf(&o.Footage, FootageNames()), footageFlag, "", strings.Join(FootageNames(), " ")+": vidfilter help footage")
	for _, opt := range kernels.Flags() {
		if !opt.Within(which) {
			continue
		}
		v := cli.NewValue(&o.Filters, cmp.Or(opt.Metavar, metavar[opt.Kind]), func(s string) (kernels.Selection, error) { return o.withFilterOption(opt, s) })
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
	t.Add(cli.OneOf(&o.FieldOrder, kernels.FieldOrder.Names), kernels.FieldOrder.Name, "", kernels.FieldOrder.Usage(), changes("field_order", kernels.FieldOrder.Names[1:]...))
	t.Add(cli.Aliased(cli.NewValue(&o.Profile, "FILE", parseProfile), profileText), "noise-profile", "", "noise that info --noise --save wrote", cli.Excludes("noise"))
}

var metavar = map[kernels.Kind]string{kernels.Number: "X", kernels.Whole: "N", kernels.Name: "NAME", kernels.Switch: "bool"}

// Stages returns the job's filters in their order: the main one, and the extra ones around it.
func (o *Options) Stages() []kernels.Stage { return o.Filters.Stages() }

// withFilterOption returns the filters' options with one set.
func (o *Options) withFilterOption(opt kernels.Option, s string) (kernels.Selection, error) {
	p := o.Filters
	if opt.Kind == kernels.Name {
		if opt.Set(&p, s) != nil {
			return p, cli.UnknownName(opt.Names, s)
		}
		return p, nil
	}
	var value any = s // Set's error names the valid values
	if on, err := strconv.ParseBool(s); err == nil && opt.Kind == kernels.Switch {
		value = on
	} else if x, err := cli.Number(s); err == nil && opt.Kind != kernels.Text {
		value = x
	}
	err := opt.Set(&p, value)
	switch {
	case err == nil:
	case opt.Short == "r" && frameRate().MatchString(s):
		err = cli.Usagef("-r is the radius; --fps changes the frame rate", "%v", err)
	case hint.Of(err) == "" && opt.Help != "":
		err = cli.Usagef(opt.Help, "%v", err)
	}
	return p, err
}

// FilterGiven reports whether an option of a live filter has been given.
func FilterGiven(fs *pflag.FlagSet) bool {
	live := func(o kernels.Option) bool { return o.Within(kernels.Place.Live) }
	return slices.ContainsFunc(append(givenOptions(fs, false), givenOptions(fs, true)...), live) || fs.Changed(kernels.FieldOrder.Name) || fs.Changed("noise-profile")
}

// givenOptions returns the filter options that are set by the environment or by arguments.
func givenOptions(fs *pflag.FlagSet, environment bool) (all []kernels.Option) {
	fs.Visit(func(f *pflag.Flag) {
		if opt, some := kernels.OptionNamed(f.Name); some && cli.FromEnvironment(f) == environment {
			all = append(all, opt)
		}
	})
	return all
}

// without returns the index of the first option that a filter lacks, -1 if it has all.
func without(filter *kernels.Filter, all []kernels.Option) int {
	return slices.IndexFunc(all, func(o kernels.Option) bool { return !slices.Contains(o.Filters(), filter) })
}

// CheckFilter fills in the defaults of the filter, and refuses arguments that do not apply to it or
// exclude each other. The environment may hold options of any filter.
func (o *Options) CheckFilter(fs *pflag.FlagSet) error {
	if err := cli.CheckExcluded(fs); err != nil && o.Part == nil { // a part may have the noise twice: see checkNoise
		return err
	}
	given, f := givenOptions(fs, false), fs.Lookup("filter")
	infer := f != nil && !f.Changed
	if infer && len(given) > 0 {
		o.inferFilter(given)
	} else if infer {
		o.inferFilter(givenOptions(fs, true))
	}
	if i := without(o.Filters.Chosen(), given); i >= 0 {
		return o.misplaced(fs, given, given[i], infer)
	}
	if err := o.applyFootage(fs); err != nil {
		return err
	}
	o.Filters = o.Filters.WithDefaults()
	if err := o.Filters.Validate(); err != nil {
		return cli.Usagef("for their values: "+optionsHelp, "%v", err)
	}
	return o.checkNoise()
}

// inferFilter chooses the first filter that has all of some options, if the default lacks one.
func (o *Options) inferFilter(given []kernels.Option) {
	for _, f := range kernels.Filters() {
		if without(o.Filters.Chosen(), given) >= 0 && without(f, given) < 0 {
			o.Filters.Choose(f)
		}
	}
}

// misplaced is the error of an option that the filter lacks. If the filter was inferred, it may be
// that no filter has opt and another of the given options.
func (o *Options) misplaced(fs *pflag.FlagSet, given []kernels.Option, opt kernels.Option, inferred bool) error {
	name, of := cli.FlagName(fs.Lookup(opt.Name)), opt.Filters()[0]
	disjoint := func(other kernels.Option) bool {
		return !slices.ContainsFunc(other.Filters(), func(k *kernels.Filter) bool { return slices.Contains(opt.Filters(), k) })
	}
	if i := slices.IndexFunc(given, disjoint); inferred && i >= 0 {
		return cli.Usagef("give one of the two: a job has one filter", "%s is an option of the %s filter, %s of the %s filter",
			name, of, cli.FlagName(fs.Lookup(given[i].Name)), given[i].Filters()[0])
	}
	var has []string
	for _, other := range kernels.Flags() {
		if other.OfFilter(o.Filters.Chosen()) {
			has = append(has, "--"+other.Name)
		}
	}
	hint := fmt.Sprintf("the %s filter has %s", o.Filters.Chosen(), strings.Join(has, ", "))
	return cli.Usagef(hint, "%s is an option of the %s filter, not of the %s filter", name, of, o.Filters.Chosen())
}
