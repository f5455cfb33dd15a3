package cli

import "github.com/spf13/pflag"

// Table adds flags to a set under the title of a group.
type Table struct {
	fs    *pflag.FlagSet
	Group string
}

const groupKey = "group"

// NewFlagSet returns a set that lists flags in the order they were added.
func NewFlagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	return fs
}

func (t Table) Add(v pflag.Value, name, short, usage string, attributes ...Attribute) *pflag.Flag {
	f := t.fs.VarPF(v, name, short, usage)
	f.Annotations = map[string][]string{groupKey: {t.Group}}
	for _, a := range attributes {
		a.Mark(f)
	}
	return f
}

func (t Table) Flag(p *bool, name, short, usage string, attributes ...Attribute) {
	t.Add(NewValue(p, "bool", parseSwitch), name, short, usage, attributes...).NoOptDefVal = "true"
}

// GroupOf returns the title under which help lists a flag, "" for cobra's own flags.
func GroupOf(f *pflag.Flag) string {
	if g := f.Annotations[groupKey]; len(g) > 0 {
		return g[0]
	}
	return ""
}

// NewTable returns a table that adds flags to fs under a title.
func NewTable(fs *pflag.FlagSet, title string) Table { return Table{fs, title} }

// Given returns the flags that were given, in a canonical form, without a group's flags and
// flags without a group.
func Given(fs *pflag.FlagSet, without string) (args []string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if g := GroupOf(f); !f.Changed || g == "" || g == without {
			return
		}
		if l, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range l.GetSlice() {
				args = append(args, "--"+f.Name+"="+v)
			}
			return
		}
		args = append(args, "--"+f.Name+"="+f.Value.String())
	})
	return args
}
