package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vidfilter/internal/text"
)

// Flag is a flag as the command line has it: the caller owns the table.
type Flag struct {
	Name, Short string
	Value       bool     // takes a value; otherwise it is a switch
	Repeat      bool     // may be given more than once, and each counts
	Kind        string   // stands for the value in --help, for people
	Usage       string   // what --help says of it
	Examples    []string // values, for the schema
	Rivals      []string // flags that it excludes: of two layers, the one that wins silences them
	Neutral     bool     // the result is the same with it and without, as with --threads
}

// reserved are flags of the main job that a batch sets itself, and why they cannot be given.
var reserved = map[string]string{
	"input":         "the sources of a batch are its arguments, or input: in a job file",
	"output":        "a batch has a root, and a name for each output: -o FOLDER, --name TEMPLATE, or output: and name: in a job file",
	"overwrite":     "whether outputs are replaced is said for the batch as a whole: vidfilter batch -y",
	"no-overwrite":  "a batch never replaces what it has not made itself, unless -y is given",
	"allow-network": "the sources of a batch are files",
	"progress":      "a batch reads the progress of its jobs itself",
	"part":          "a batch cuts videos into parts itself",
	"join":          "a batch joins parts itself",
	"quiet":         "how much is said is said for the batch as a whole: vidfilter batch -q",
	"verbose":       "how much is said is said for the batch as a whole: vidfilter batch -v",
	"version":       "it asks for something else than a job",
	"help":          "it asks for something else than a job",
}

// Setting is a flag with its value as text; a switch has "true" or "false".
type Setting struct {
	Name, Value string
	Where       string // file:line, or "" for the command line
}

// flagTable answers questions about flags.
type flagTable []Flag

func (t flagTable) names() []string {
	all := make([]string, 0, len(t))
	for _, f := range t {
		if reserved[f.Name] == "" {
			all = append(all, f.Name)
		}
	}
	return all
}

func (t flagTable) long(name string) (Flag, error) {
	if why := reserved[name]; why != "" {
		return Flag{}, errorf(why, "--%s cannot be an option of a batch's job", name)
	}
	if i := slices.IndexFunc(t, func(f Flag) bool { return f.Name == name }); i >= 0 {
		return t[i], nil
	}
	return Flag{}, unknown("option", name, t.names(), "all options: vidfilter --help")
}

func (t flagTable) short(letter string) (Flag, error) {
	i := slices.IndexFunc(t, func(f Flag) bool { return f.Short != "" && f.Short == letter })
	if i < 0 {
		return Flag{}, errorf("all options: vidfilter --help", "unknown option -%s", letter)
	}
	return t.long(t[i].Name)
}

func unknown(what, name string, known []string, hint string) error {
	if near := text.Closest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return errorf(hint, "unknown %s %q", what, name)
}

// parse reads flags as typed: --crf 20, --crf=20, -r5, -r 5, -r=5.
func (t flagTable) parse(args []string) (all []Setting, err error) {
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		var f Flag
		var value string
		var given bool
		if name, ok := strings.CutPrefix(a, "--"); ok && name != "" {
			name, value, given = strings.Cut(name, "=")
			f, err = t.long(name)
		} else if len(a) > 1 && a[0] == '-' && a != "--" {
			f, err = t.short(a[1:2])
			value, given = strings.TrimPrefix(a[2:], "="), len(a) > 2
			if given && err == nil && !f.Value && a[2] != '=' { // switches in one: -ab
				value, given, args = "", false, append([]string{"-" + a[2:]}, args...)
			}
		} else {
			err = errorf("options of the jobs begin with dashes", "unexpected argument %q", a)
		}
		if err != nil {
			return nil, err
		}
		if f.Value && !given {
			if len(args) == 0 {
				return nil, errorf("--"+f.Name+" takes "+f.Kind, "--%s needs a value", f.Name)
			}
			value, args = args[0], args[1:]
		}
		if !f.Value && !given {
			value = "true"
		}
		s, err := f.setting(value)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (f Flag) setting(value string) (Setting, error) {
	if f.Value {
		return Setting{Name: f.Name, Value: value}, nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return Setting{}, errorf("give true or false", "--%s is a switch, and %q is neither on nor off", f.Name, value)
	}
	return Setting{Name: f.Name, Value: strconv.FormatBool(on)}, nil
}

// environment reads the flags that the environment has. They have the lowest rank, as in the main job.
func (t flagTable) environment(env []string) (all []Setting, err error) {
	for _, f := range t {
		name := "VIDFILTER_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := ""
		for _, e := range env {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				value = v
			}
		}
		if value == "" || reserved[f.Name] != "" {
			continue
		}
		s, err := f.setting(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Where = name
		all = append(all, s)
	}
	return all, nil
}

// merge lays the layers upon each other, the last being the highest: what a layer says of a flag counts alone, and silences the
// flag's rivals below.
func (t flagTable) merge(layers ...[]Setting) []Setting {
	var all []Setting
	for _, layer := range layers {
		all = slices.DeleteFunc(slices.Clone(all), func(low Setting) bool {
			return slices.ContainsFunc(layer, func(high Setting) bool { return t.silences(high, low) })
		})
		all = append(all, layer...)
	}
	return t.canonical(all)
}

func (t flagTable) silences(high, low Setting) bool {
	if high.Name == low.Name {
		return true
	}
	f, err := t.long(high.Name)
	return err == nil && high.Value != "false" && slices.Contains(f.Rivals, low.Name)
}

// canonical sorts settings into the table's order, and keeps the last of those that cannot be repeated.
func (t flagTable) canonical(in []Setting) (out []Setting) {
	for _, f := range t {
		var of []Setting
		for _, s := range in {
			if s.Name == f.Name {
				of = append(of, s)
			}
		}
		if !f.Repeat && len(of) > 1 {
			of = of[len(of)-1:]
		}
		out = append(out, of...)
	}
	return out
}

// args returns settings as arguments; those that decide about the result also apart.
func (t flagTable) args(settings []Setting) (all, deciding []string) {
	for _, s := range settings {
		f, _ := t.long(s.Name)
		arg := "--" + s.Name
		if f.Value || s.Value != "true" {
			arg += "=" + s.Value
		}
		all = append(all, arg)
		if !f.Neutral {
			deciding = append(deciding, arg)
		}
	}
	return all, deciding
}
