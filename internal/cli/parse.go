package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/text"
)

// FlagError explains an error of pflag. help is the command that lists the flags.
func FlagError(fs *pflag.FlagSet, err error, help string) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return unknownFlag(fs, "-"+unknown.GetSpecifiedShortnames(), help)
	case errors.As(err, &unknown):
		return unknownFlag(fs, "--"+unknown.GetSpecifiedName(), help)
	case errors.As(err, &invalid):
		return BadValue(FlagName(invalid.GetFlag()), invalid.GetValue(), invalid.Unwrap())
	case errors.As(err, &missing):
		return Usagef(fmt.Sprintf("%s takes %s", FlagName(missing.GetFlag()), missing.GetFlag().Value.Type()),
			"%s needs a value", FlagName(missing.GetFlag()))
	}
	return Usagef("for all options: "+help, "%v", err)
}

// FlagName returns -r/--radius.
func FlagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + "/--" + f.Name
	}
	return "--" + f.Name
}

func unknownFlag(fs *pflag.FlagSet, flag, help string) error {
	name, hint := strings.TrimLeft(flag, "-"), "for all options: "+help
	if h := foreignHint(name); h != "" {
		hint = h
	} else if near := text.Closest(name, longNames(fs)); near != "" {
		hint = fmt.Sprintf("did you mean --%s?", near)
	}
	return Usagef(hint, "unknown option %s", flag)
}

// longNames returns the names of all flags.
func longNames(fs *pflag.FlagSet) (all []string) {
	fs.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// SwallowedFlag refuses -i -o out.mp4: the value is missing, and pflag took the next flag for it.
func SwallowedFlag(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		v := f.Value.String()
		if f.Value.Type() != "FILE" || len(v) < 2 || v[0] != '-' || err != nil {
			return
		}
		err = Usagef(fmt.Sprintf("a file of that name is ./%s", v), "%s needs a file, not the option %q", FlagName(f), v)
	})
	return err
}

// ParseArguments parses args into fs. help is the command that lists its flags.
func ParseArguments(fs *pflag.FlagSet, args []string, help string) error {
	if err := ForeignFlag(fs, args); err != nil {
		return err
	}
	if err := fs.Parse(Joined(fs, args)); err != nil {
		return FlagError(fs, err, help)
	}
	return SwallowedFlag(fs)
}

// Joined joins options that may stand alone with the value that follows: --deinterlace bob.
func Joined(fs *pflag.FlagSet, args []string) (all []string) {
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(all, args[i:]...)
		}
		arg := args[i]
		if f := fs.Lookup(strings.TrimPrefix(arg, "--")); f != nil && arg == "--"+f.Name && f.NoOptDefVal != "" && i+1 < len(args) {
			v, named := f.Value.(interface{ Choices() []string })
			if named && slices.Contains(v.Choices(), args[i+1]) {
				i++
				arg += "=" + args[i]
			}
		}
		all = append(all, arg)
	}
	return all
}

// WantsJSON looks for --progress json in arguments that could not be parsed: a caller that reads
// JSON should get the usage error as JSON.
func WantsJSON(args, env []string) bool {
	asked := Lookup(env, EnvName("progress"))
	for i, a := range args {
		if a == "--progress" && i+1 < len(args) {
			asked = args[i+1]
		}
		if v, ok := strings.CutPrefix(a, "--progress="); ok {
			asked = v
		}
	}
	return asked == "json"
}
