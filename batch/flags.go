package batch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
)

// Setting is a flag with its value as text; a switch has "true" or "false".
type Setting struct {
	Name, Value string
	Where       string // file:line, or "" for the command line
}

// flagTable is a set of flags. Their own values are only used to check others.
type flagTable struct{ *pflag.FlagSet }

// all lists the flags in order that a job may have.
func (t flagTable) all() (all []*pflag.Flag) {
	t.SortFlags = false
	t.VisitAll(func(f *pflag.Flag) {
		if cli.WhyNotInBatch(f) == "" {
			all = append(all, f)
		}
	})
	return all
}

func (t flagTable) names() (names []string) {
	for _, f := range t.all() {
		names = append(names, f.Name)
	}
	return names
}

func (t flagTable) find(name string) (*pflag.Flag, error) {
	if f := t.Lookup(name); f != nil {
		if why := cli.WhyNotInBatch(f); why != "" {
			return nil, errorf(why, "--%s cannot be an option of a batch's job", name)
		}
		return f, nil
	}
	return nil, unknown("option", name, t.names(), "for all options: vidfilter help options")
}

func unknown(what, name string, known []string, hint string) error {
	if near := text.Closest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return errorf(hint, "unknown %s %q", what, name)
}

func isSwitch(f *pflag.Flag) bool { return f.Value.Type() == "bool" }

func repeats(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}

// parse reads flags as typed and checks them, also against each other.
func (t flagTable) parse(args []string) (all []Setting, err error) {
	t.Usage = func() {}
	err = t.ParseAll(args, func(f *pflag.Flag, value string) error {
		if _, err := t.find(f.Name); err != nil {
			return err
		}
		s, err := checked(f, value)
		all = append(all, s)
		return err
	})
	var missing *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, err = t.find("help")
	case errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "":
		_, err = t.find(missing.GetSpecifiedName())
	case errors.As(err, &empty):
		err = errorf(takes(empty.GetFlag()), "--%s needs a value", empty.GetFlag().Name)
	case err != nil && hint.Of(err) == "":
		err = errorf("for all options: vidfilter help options", "%v", err)
	case err == nil && t.NArg() > 0:
		err = errorf("options of the jobs begin with dashes", "unexpected argument %q", t.Arg(0))
	}
	if err != nil {
		return nil, err
	}
	if a, b := t.excluded(all); a != "" {
		return nil, errorf("give one of them", "--%s and --%s exclude each other", a, b)
	}
	return all, nil
}

func takes(f *pflag.Flag) string { return fmt.Sprintf("--%s takes %s", f.Name, f.Value.Type()) }

// Canonical reads the options of a job from another machine, and returns them in the form of
// Expand: all, and those that affect the result. Options that a job cannot have are refused.
func Canonical(flags *pflag.FlagSet, args []string) (all, deciding []string, err error) {
	t := flagTable{flags}
	settings, err := t.parse(args)
	if err != nil {
		return nil, nil, err
	}
	all, deciding = t.args(t.canonical(settings))
	return all, deciding, nil
}

// checked returns a flag with a value that it takes.
func checked(f *pflag.Flag, value string) (Setting, error) {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		_ = list.Replace(nil) // or it would grow with each check
	}
	if err := f.Value.Set(value); err != nil {
		return Setting{}, errorf(cmp.Or(hint.Of(err), takes(f)), "%s %q: %v", f.Name, value, err)
	}
	return setting(f, value)
}

func setting(f *pflag.Flag, value string) (Setting, error) {
	if v, ok := f.Value.(interface{ Usual(string) string }); ok {
		value = v.Usual(value)
	}
	if !isSwitch(f) {
		return Setting{Name: f.Name, Value: value}, nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return Setting{}, errorf("give true or false", "%s is a switch, and %q is neither on nor off", f.Name, value)
	}
	return Setting{Name: f.Name, Value: strconv.FormatBool(on)}, nil
}

// environment reads the flags set by the environment. Their values are checked with the job's
// other options, since those may override them.
func (t flagTable) environment(env []string) (all []Setting, err error) {
	for _, f := range t.all() {
		name := cli.EnvName(f.Name)
		value := cli.Lookup(env, name)
		if value == "" {
			continue
		}
		s, err := setting(f, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Where = name
		all = append(all, s)
	}
	return all, nil
}

// merge combines the layers; later ones win. A flag in a layer replaces the same flag, and those
// that it excludes, in the layers below.
func (t flagTable) merge(layers ...[]Setting) []Setting {
	var all []Setting
	for _, layer := range layers {
		all = slices.DeleteFunc(slices.Clone(all), func(low Setting) bool {
			return slices.ContainsFunc(layer, func(high Setting) bool { return high.Name == low.Name || t.excludes(high, low) })
		})
		all = append(all, layer...)
	}
	return t.canonical(all)
}

// excludes reports whether a flag that is on cannot be combined with another.
func (t flagTable) excludes(a, b Setting) bool {
	f, other := t.Lookup(a.Name), t.Lookup(b.Name)
	return f != nil && other != nil && a.Value != "false" && cli.Exclude(f, other)
}

// excluded returns two flags of one layer that exclude each other.
func (t flagTable) excluded(settings []Setting) (a, b string) {
	for _, s := range settings {
		for _, o := range settings {
			if o.Value != "false" && t.excludes(s, o) {
				return s.Name, o.Name
			}
		}
	}
	return "", ""
}

// canonical sorts settings into the table's order, and keeps the last of those that cannot be
// repeated.
func (t flagTable) canonical(in []Setting) (out []Setting) {
	for _, f := range t.all() {
		var of []Setting
		for _, s := range in {
			if s.Name == f.Name {
				of = append(of, s)
			}
		}
		if !repeats(f) && len(of) > 1 {
			of = of[len(of)-1:]
		}
		out = append(out, of...)
	}
	return out
}

// args returns settings as arguments; those that affect the result also apart.
func (t flagTable) args(settings []Setting) (all, deciding []string) {
	for _, s := range settings {
		f := t.Lookup(s.Name)
		arg := "--" + s.Name
		if !isSwitch(f) || s.Value != "true" {
			arg += "=" + s.Value
		}
		all = append(all, arg)
		if !cli.Neutral.On(f) {
			deciding = append(deciding, arg)
		}
	}
	return all, deciding
}
