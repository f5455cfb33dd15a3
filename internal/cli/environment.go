package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"vidfilter/internal/text"
)

// EnvPrefix begins the variables that set options.
const EnvPrefix = "VIDFILTER_"

// EnvName returns the variable of an option without the attribute Variable.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// variableOf returns the variable that sets a flag.
func variableOf(f *pflag.Flag) string {
	return EnvName(cmp.Or(strings.Join(variable.Args(f), ""), f.Name))
}

const sourceKey = "source"

// ApplyEnvironment sets flags from variables; arguments win.
func ApplyEnvironment(fs *pflag.FlagSet, env []string) (err error) {
	hidden := hiddenFromEnvironment(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		v := Lookup(env, variableOf(f))
		if err != nil || v == "" || slices.Contains(hidden, f.Name) || GroupOf(f) == "" {
			return
		}
		if e := fs.Set(f.Name, v); e != nil {
			if invalid, ok := errors.AsType[*pflag.InvalidValueError](e); ok {
				e = invalid.Unwrap()
			}
			err = BadValue(variableOf(f), v, e)
		}
		f.Annotations[sourceKey] = []string{variableOf(f)}
	})
	return err
}

// Overruled reports whether a flag was given, or a given flag excludes it.
func Overruled(fs *pflag.FlagSet, name string) bool {
	return slices.Contains(hiddenFromEnvironment(fs), name)
}

// SetFor sets a flag for another option, named by source.
func SetFor(fs *pflag.FlagSet, name, value, source string) error {
	fs.Lookup(name).Annotations[sourceKey] = []string{source}
	return fs.Set(name, value)
}

// FromEnvironment reports whether a variable or another option set the flag.
func FromEnvironment(f *pflag.Flag) bool { return f.Annotations[sourceKey] != nil }

// Source returns the name by which a flag was set, for messages.
func Source(fs *pflag.FlagSet, name string) string {
	f := fs.Lookup(name)
	if FromEnvironment(f) {
		return f.Annotations[sourceKey][0]
	}
	return FlagName(f)
}

// hiddenFromEnvironment returns the flags given as arguments, and those that they exclude.
func hiddenFromEnvironment(fs *pflag.FlagSet) (names []string) {
	fs.Visit(func(f *pflag.Flag) {
		fs.VisitAll(func(other *pflag.Flag) {
			if other == f || isOn(f) && Exclude(f, other) {
				names = append(names, other.Name)
			}
		})
	})
	return names
}

// CheckExcluded refuses two flags that are on and exclude each other.
func CheckExcluded(fs *pflag.FlagSet) (err error) {
	fs.VisitAll(func(a *pflag.Flag) {
		fs.VisitAll(func(b *pflag.Flag) {
			if err == nil && isOn(a) && isOn(b) && Exclude(a, b) {
				err = Usagef("give one of them", "%s and %s exclude each other", Source(fs, a.Name), Source(fs, b.Name))
			}
		})
	})
	return err
}

// isOn reports whether a flag was given that is no switch, or one that is on.
func isOn(f *pflag.Flag) bool {
	return f.Changed && (f.Value.Type() != "bool" || isTrue(f.Value.String()))
}

func isTrue(s string) bool { return strings.Trim(strings.ToLower(s), "true1") == "" }

// Lookup returns the value of a variable, "" if it is unset or empty.
func Lookup(env []string, name string) (value string) {
	for _, e := range env {
		if n, v, _ := strings.Cut(e, "="); n == name {
			value = v
		}
	}
	return value
}

// notOptions are variables of the build, of tests and of packagers.
var notOptions = []string{"CACHE", "DAMAGE", "KILLS", "SCREENSHOT", "SOAK", "VERSION"}

// testPrefix begins the other variables of tests.
const testPrefix = "TEST"

// UnknownVariables returns a warning for each variable that resembles an option, but is none of own
// nor of sets, which are made only if own lacks a variable.
func UnknownVariables(env []string, own *pflag.FlagSet, sets func() []*pflag.FlagSet) (said []string) {
	mine := sync.OnceValue(func() map[string]string { return environmentFlags([]*pflag.FlagSet{own}) })
	flags := sync.OnceValue(func() map[string]string { return environmentFlags(sets()) })
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		option, ours := strings.CutPrefix(name, EnvPrefix)
		if !ours || value == "" || strings.HasPrefix(option, testPrefix) || slices.Contains(notOptions, option) {
			continue
		}
		if mine()[name] != "" || flags()[name] != "" {
			continue
		}
		what := "it has no effect"
		if meant := nearVariable(name, flags()); meant != "" {
			what = "did you mean " + meant + "?"
		}
		said = append(said, fmt.Sprintf("unknown %s in the environment: %s", name, what))
	}
	return said
}

// environmentFlags maps variables to the shorthands of their flags, or "-".
func environmentFlags(sets []*pflag.FlagSet) map[string]string {
	all := map[string]string{}
	for _, fs := range sets {
		fs.VisitAll(func(f *pflag.Flag) {
			if GroupOf(f) != "" { // as in ApplyEnvironment
				all[variableOf(f)] = cmp.Or(f.Shorthand, "-")
			}
		})
	}
	return all
}

func nearVariable(name string, flags map[string]string) string {
	var short []string
	for _, k := range slices.Sorted(maps.Keys(flags)) {
		if EnvName(flags[k]) == name {
			return k
		}
		short = append(short, strings.TrimPrefix(k, EnvPrefix))
	}
	if near := text.Closest(strings.TrimPrefix(name, EnvPrefix), short); near != "" {
		return EnvPrefix + near
	}
	return ""
}
