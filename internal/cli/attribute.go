package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Attribute is a property of a flag, given where the flag is added. Lists of flags derive from it.
// A flag without attributes is an option of single jobs and of batches, and changes the result.
type Attribute struct {
	key  string
	args []string
}

// NewAttribute returns an attribute. A flag has one at most for each key.
func NewAttribute(key string, args ...string) Attribute {
	return Attribute{key, append([]string{}, args...)}
}

var (
	Basic     = NewAttribute("basic")       // vidfilter --help lists the option
	Neutral   = NewAttribute("neutral")     // the result is the same with any value, as with --threads
	InJobFile = NewAttribute("in job file") // a job file may set this option of the batch itself

	notInBatch = NewAttribute("not in a batch")
	excludes   = NewAttribute("excludes")
	variable   = NewAttribute("variable")
)

// NotInBatch is for options that jobs of a batch cannot have. why is a hint with the alternative.
func NotInBatch(why string) Attribute { return NewAttribute(notInBatch.key, why) }

// Excludes is for options that cannot be given with others. One of two needs the attribute.
func Excludes(names ...string) Attribute { return NewAttribute(excludes.key, names...) }

// Variable is for an option with the name of another command's: its variable is EnvName(name).
func Variable(name string) Attribute { return NewAttribute(variable.key, name) }

// Mark gives the attribute to a flag of a Table.
func (a Attribute) Mark(f *pflag.Flag) { f.Annotations[a.key] = a.args }

// Args returns the arguments that a flag has with an attribute of the same key.
func (a Attribute) Args(f *pflag.Flag) []string { return f.Annotations[a.key] }

// On reports whether a flag has an attribute of the same key.
func (a Attribute) On(f *pflag.Flag) bool { return a.Args(f) != nil }

// Only returns the flags of a set that have the attribute.
func (a Attribute) Only(fs *pflag.FlagSet) *pflag.FlagSet {
	only := NewFlagSet()
	fs.VisitAll(func(f *pflag.Flag) {
		if a.On(f) {
			only.AddFlag(f)
		}
	})
	return only
}

// WhyNotInBatch returns the hint of NotInBatch, "" if jobs of a batch can have the option.
func WhyNotInBatch(f *pflag.Flag) string { return strings.Join(notInBatch.Args(f), "") }

// Exclude reports whether two options cannot be given together.
func Exclude(a, b *pflag.Flag) bool {
	return slices.Contains(excludes.Args(a), b.Name) || slices.Contains(excludes.Args(b), a.Name)
}
