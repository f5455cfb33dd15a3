package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/text"
)

// EnvPrefix begins the variables that set options.
const EnvPrefix = "VIDFILTER_"

// EnvName returns the variable that sets a flag.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Rivals are sets of flags of which one given as an argument hides the others in the environment.
var Rivals = [][]string{{"overwrite", "no-overwrite"}, {"quiet", "verbose"}, {"crf", "bitrate"}, {"codec", "encoder"},
	{"noise", "noise-from", "noise-profile"}, {"chroma", "luma-only"}, {"temporal-only", "spatial-only"}}

const sourceKey = "source"

// ApplyEnvironment sets flags from variables; arguments win.
func ApplyEnvironment(fs *pflag.FlagSet, env []string) (err error) {
	hidden := hiddenFromEnvironment(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		v := Lookup(env, EnvName(f.Name))
		if err != nil || v == "" || slices.Contains(hidden, f.Name) || GroupOf(f) == "" {
			return
		}
		if e := fs.Set(f.Name, v); e != nil {
			if invalid, ok := errors.AsType[*pflag.InvalidValueError](e); ok {
				e = invalid.Unwrap()
			}
			err = BadValue(EnvName(f.Name), v, e)
		}
		f.Annotations[sourceKey] = []string{EnvName(f.Name)}
	})
	return err
}

// FromEnvironment reports whether a variable set the flag.
func FromEnvironment(f *pflag.Flag) bool { return f.Annotations[sourceKey] != nil }

// Source returns the name by which a flag was set, for messages.
func Source(fs *pflag.FlagSet, name string) string {
	f := fs.Lookup(name)
	if FromEnvironment(f) {
		return f.Annotations[sourceKey][0]
	}
	return FlagName(f)
}

// hiddenFromEnvironment returns the flags given as arguments, with the rivals of those that are
// on.
func hiddenFromEnvironment(fs *pflag.FlagSet) (names []string) {
	fs.Visit(func(f *pflag.Flag) {
		names = append(names, f.Name)
		for _, r := range Rivals {
			if slices.Contains(r, f.Name) && isOn(f) {
				names = append(names, r...)
			}
		}
	})
	return names
}

// CheckRivals refuses two flags of one set of Rivals.
func CheckRivals(fs *pflag.FlagSet) error {
	for _, set := range Rivals {
		var given []string
		for _, name := range set {
			if f := fs.Lookup(name); f != nil && f.Changed && isOn(f) {
				given = append(given, Source(fs, name))
			}
		}
		if len(given) > 1 {
			return Usagef("give one of them", "%s and %s exclude each other", given[0], given[1])
		}
	}
	return nil
}

// isOn reports whether a flag is no switch, or one that is on.
func isOn(f *pflag.Flag) bool { return f.Value.Type() != "bool" || isTrue(f.Value.String()) }

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

// UnknownVariables returns a warning for each variable that resembles an option of sets and is
// none.
func UnknownVariables(env []string, sets ...*pflag.FlagSet) (said []string) {
	flags := environmentFlags(sets)
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		option, ours := strings.CutPrefix(name, EnvPrefix)
		if !ours || value == "" || strings.HasPrefix(option, testPrefix) || slices.Contains(notOptions, option) || flags[name] != "" {
			continue
		}
		what := "it has no effect"
		if meant := nearVariable(name, flags); meant != "" {
			what = "did you mean " + meant + "?"
		}
		said = append(said, fmt.Sprintf("unknown %s in the environment: %s", name, what))
	}
	return said
}

// environmentFlags maps variables to the shorthands of their flags, "-" for none.
func environmentFlags(sets []*pflag.FlagSet) map[string]string {
	all := map[string]string{}
	for _, fs := range sets {
		fs.VisitAll(func(f *pflag.Flag) {
			all[EnvName(f.Name)] = cmp.Or(f.Shorthand, "-")
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
