package job

import (
	"fmt"
	"iter"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
)

var (
	namesCodec = cli.NewAttribute("names codec") // the option names the codec or means one
	ofCodec    = cli.NewAttribute("of codec")    // its values are those of one codec
)

// one is what a video must have one of: a filter, and so one encoder and process; an encoder, and
// so one process; or a process.
type one int

const (
	oneFilter one = iota
	oneEncoder
	oneProcess
)

// because is for options that ask for one. why continues the option's name. values are as in set.
func (n one) because(why string, values ...string) cli.Attribute {
	return cli.NewAttribute(fmt.Sprint("one ", n), append([]string{why}, values...)...)
}

// changes is for options that change a property of package fidelity. values are as in set.
func changes(property string, values ...string) cli.Attribute {
	return cli.NewAttribute("changes", append([]string{property}, values...)...)
}

// set yields the options that have an attribute and one of its values, or any but zero if it has
// none, with its first argument.
func (o *Options) set(a cli.Attribute) iter.Seq2[string, string] {
	return func(yield func(name, arg string) bool) {
		more := true
		o.Flags().VisitAll(func(f *pflag.Flag) {
			if args := a.Args(f); more && len(args) > 0 && f.Value.(interface{ Is(...string) bool }).Is(args[1:]...) {
				more = yield(f.Name, args[0])
			}
		})
	}
}

// given reports whether an option with an attribute was given.
func given(fs *pflag.FlagSet, a cli.Attribute) (some bool) {
	fs.Visit(func(f *pflag.Flag) { some = some || a.On(f) })
	return some
}
