package cli

import (
	"errors"
	"regexp"
	"strings"
	"sync"
)

// Repeated is a flag that collects values, one each time or several separated by commas.
type Repeated struct {
	p     *[]string
	kind  string // stands for a value in help
	check func(item string) error
}

func (r *Repeated) GetSlice() []string    { return *r.p }
func (r *Repeated) Append(s string) error { return r.Set(s) }
func (r *Repeated) Replace(all []string) error {
	*r.p = nil
	for _, s := range all {
		if err := r.Set(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repeated) String() string { return strings.Join(*r.p, ",") }
func (r *Repeated) Type() string   { return r.kind }
func (r *Repeated) Set(s string) error {
	for item := range strings.SplitSeq(s, ",") {
		if err := r.check(item); err != nil {
			return err
		}
		*r.p = append(*r.p, item)
	}
	return nil
}

// NewRepeated returns a flag that appends names to p. kind stands for a name in help.
func NewRepeated(p *[]string, kind string) *Repeated {
	return NewChecked(p, kind, func(item string) error {
		if item == "" || strings.ContainsAny(item, " /?#\\") {
			return errors.New("not a name")
		}
		return nil
	})
}

// NewChecked returns a flag that appends valid values to p, by check.
func NewChecked(p *[]string, kind string, check func(item string) error) *Repeated {
	return &Repeated{p, kind, check}
}

// NewSpecs returns a flag that appends stream specifiers to p.
func NewSpecs(p *[]string) *Repeated {
	return &Repeated{p, "SPEC", func(item string) error {
		if !mapSpec().MatchString(item) {
			return Usagef("streams are named as in ffmpeg: 0:1, a, a:1, s:0?, -0:d", "not a stream specifier")
		}
		return nil
	}}
}

// mapSpec is [-][0:]SPEC[?]: SPEC is an index, a kind, or a kind and an index. There is one
// input, 0.
var mapSpec = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|(0:)?(\d{1,6}|[vVasdt](:\d{1,6})?))\??$`) })
