package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/text"
)

// parse fills o from the arguments, then from the environment where they say nothing.
func (o *options) parse(fs *pflag.FlagSet, args, env []string) error {
	if err := foreignFlag(fs, args); err != nil {
		return err
	}
	if err := fs.Parse(args); err != nil {
		return flagError(fs, err)
	}
	if o.Help || o.Version {
		return nil
	}
	if err := swallowedFlag(fs); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return usagef("files go behind flags: vidfilter -i in.mp4 -o out.mp4", "unexpected argument %q", fs.Arg(0))
	}
	return applyEnvironment(fs, env)
}

// flagError says in our words what pflag found.
func flagError(fs *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return unknownFlag(fs, "-", unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		return unknownFlag(fs, "--", unknown.GetSpecifiedName())
	case errors.As(err, &invalid):
		return badValue(flagName(invalid.GetFlag()), invalid.GetValue(), invalid.Unwrap())
	case errors.As(err, &missing):
		return usagef(fmt.Sprintf("%s takes %s", flagName(missing.GetFlag()), missing.GetFlag().Value.Type()),
			"%s needs a value", flagName(missing.GetFlag()))
	}
	return usagef("all options: vidfilter --help", "%v", err)
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + "/--" + f.Name
	}
	return "--" + f.Name
}

func unknownFlag(fs *pflag.FlagSet, dashes, name string) error {
	hint := "all options: vidfilter --help"
	if h, ok := ffmpegHints[name]; ok {
		hint = h
	} else if near := text.Closest(name, longNames(fs)); near != "" {
		hint = fmt.Sprintf("did you mean --%s?", near)
	}
	return usagef(hint, "unknown option %s%s", dashes, name)
}

func longNames(fs *pflag.FlagSet) (all []string) {
	fs.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// ffmpegHints are options of ffmpeg that people's fingers know, and what serves here.
var ffmpegHints = map[string]string{
	"ss": "here it is --start", "t": "here it is --duration", "to": "give --start and --duration",
	"c": "here it is --encoder", "c:v": "here it is --encoder", "codec:v": "here it is --encoder", "vcodec": "here it is --encoder",
	"c:a": "audio is copied as it is", "acodec": "audio is copied as it is", "b:a": "audio is copied as it is",
	"c:s": "subtitles are copied as they are",
	"b":   "here it is --bitrate", "b:v": "here it is --bitrate",
	"g": "here it is --gop", "f": "here it is --format, or --input-format for the input",
	"an": "here it is --no-audio", "sn": "here it is --no-subs", "pix_fmt": "here it is --pixel-format",
	"vframes": "here it is --frames", "frames:v": "here it is --frames",
	"vf": "here it is --filter; its options are --radius, --sigma-s, --sigma-r and more", "filter:v": "see --radius",
	"s": "the size is always the input's", "hide_banner": "leave it out", "nostdin": "leave it out",
	"loglevel": "see --quiet and --verbose", "nostats": "see --progress", "j": "here it is --threads",
}

// foreignFlag finds long options behind a single dash, as ffmpeg has them, before pflag takes them apart
// into letters: -crf would be -c -r -f, and -radius the radius "adius".
func foreignFlag(fs *pflag.FlagSet, args []string) error {
	for _, a := range args {
		if a == "--" {
			return nil
		}
		name, ok := strings.CutPrefix(a, "-")
		if !ok || len(name) < 2 || name[0] == '-' {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if fs.Lookup(name) != nil {
			return usagef(fmt.Sprintf("did you mean --%s?", name), "unknown option -%s", name)
		}
		if hint, ok := ffmpegHints[name]; ok {
			return usagef(hint, "unknown option -%s", name)
		}
	}
	return nil
}

// swallowedFlag refuses -i -o out.mp4, where the value was forgotten and the next flag was taken for it.
func swallowedFlag(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		v := f.Value.String()
		if f.Value.Type() != "FILE" || len(v) < 2 || v[0] != '-' || err != nil {
			return
		}
		err = usagef(fmt.Sprintf("a file of that name is ./%s", v), "%s needs a file, not the option %q", flagName(f), v)
	})
	return err
}

// rivals are flags of which one given as an argument silences the others in the environment.
var rivals = [][]string{{"overwrite", "no-overwrite"}, {"quiet", "verbose"}, {"crf", "bitrate"}}

const envPrefix = "VIDFILTER_"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// noEnvironment are flags that ask for something else than a job; VIDFILTER_VERSION is moreover a name
// that packagers like.
var noEnvironment = []string{"help", "version"}

func applyEnvironment(fs *pflag.FlagSet, env []string) (err error) {
	silent := silenced(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		v := lookup(env, envName(f.Name))
		if err != nil || v == "" || slices.Contains(silent, f.Name) || slices.Contains(noEnvironment, f.Name) {
			return
		}
		if e := fs.Set(f.Name, v); e != nil {
			var invalid *pflag.InvalidValueError
			if errors.As(e, &invalid) {
				e = invalid.Unwrap()
			}
			err = badValue(envName(f.Name), v, e)
		}
		f.Annotations[sourceKey] = []string{envName(f.Name)}
	})
	return err
}

const sourceKey = "source"

// source returns the name under which a person set the flag.
func source(fs *pflag.FlagSet, name string) string {
	f := fs.Lookup(name)
	if s := f.Annotations[sourceKey]; s != nil {
		return s[0]
	}
	return flagName(f)
}

// silenced returns the flags for which the environment has nothing to say: those given as arguments, and
// the rivals of those that are on.
func silenced(fs *pflag.FlagSet) (names []string) {
	fs.Visit(func(f *pflag.Flag) {
		names = append(names, f.Name)
		if f.Value.Type() == "bool" && !isTrue(f.Value.String()) {
			return
		}
		for _, r := range rivals {
			if slices.Contains(r, f.Name) {
				names = append(names, r...)
			}
		}
	})
	return names
}

func isTrue(s string) bool { return strings.Trim(strings.ToLower(s), "true1") == "" }

// lookup returns the value of an environment variable, or ""; an empty one counts as not set.
func lookup(env []string, name string) (value string) {
	for _, e := range env {
		if n, v, _ := strings.Cut(e, "="); n == name {
			value = v
		}
	}
	return value
}

// misspelled returns the variables that look like options of ours but are none, each with what is near.
func misspelled(env []string) (names, meant []string) {
	known := longNames(defaultOptions().flags())
	for _, e := range env {
		n, _, _ := strings.Cut(e, "=")
		option, ours := strings.CutPrefix(n, envPrefix)
		option = strings.ToLower(strings.ReplaceAll(option, "_", "-"))
		if !ours || slices.Contains(known, option) {
			continue
		}
		if near := text.Closest(option, known); near != "" {
			names, meant = append(names, n), append(meant, envName(near))
		}
	}
	return names, meant
}

// wantsJSON looks for --progress json where parsing stopped short of it: whoever reads JSON should get
// the usage error in JSON too.
func wantsJSON(args, env []string) bool {
	asked := lookup(env, envName("progress"))
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

// parseArguments reads the arguments of a command that has nothing of the environment.
func parseArguments(fs *pflag.FlagSet, args []string) error {
	if err := foreignFlag(fs, args); err != nil {
		return err
	}
	if err := fs.Parse(args); err != nil {
		return flagError(fs, err)
	}
	return swallowedFlag(fs)
}
