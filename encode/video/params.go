package video

import (
	"fmt"
	"slices"
	"strings"

	"vidfilter/encode/spec"
	"vidfilter/internal/text"
)

// ParseParams reads NAME=VALUE:NAME=VALUE, parameters by the encoder's own names. It takes those
// that are listed, since others may open files.
func (c Codec) ParseParams(s string) (all spec.Params, err error) {
	if s == "" {
		return nil, nil
	}
	if c.Name == spec.X264 {
		return ParseX264(s)
	}
	if len(c.params) == 0 {
		return nil, misused("leave it out", "the encoder %s has no option --encoder-params", c.Name)
	}
	if i := strings.IndexAny(s, "\\'\" \t\r\n\v\f"); i >= 0 {
		return nil, misused("as NAME=VALUE:NAME=VALUE", "--encoder-params cannot hold %q", s[i])
	}
	for part := range strings.SplitSeq(s, ":") {
		name, value, given := strings.Cut(part, "=")
		if err := c.allow(name, value, given); err != nil {
			return nil, err
		}
		all = append(all, spec.Param{Name: name, Value: value})
	}
	return all, nil
}

func (c Codec) allow(name, value string, given bool) error {
	names := make([]string, len(c.params))
	for i, p := range c.params {
		names[i], _, _ = strings.Cut(p, "=")
	}
	at := slices.Index(names, name)
	switch {
	case at < 0:
		advice := "known are " + strings.Join(names, " ")
		if near := text.Closest(name, names); near != "" {
			advice = fmt.Sprintf("did you mean %q? %s", near, advice)
		}
		return misused(advice, "%s has no parameter %q that vidfilter allows", c.Name, name)
	case !given || value == "":
		return misused(fmt.Sprintf("%s=VALUE; a switch is %[1]s=1 or %[1]s=0", name), "parameter %q of %s needs a value", name, c.Name)
	}
	if _, list, limited := strings.Cut(c.params[at], "="); limited && !slices.Contains(strings.Split(list, "|"), value) {
		return misused("choose from "+strings.ReplaceAll(list, "|", ", "), "parameter %q of %s does not take %q", name, c.Name, value)
	}
	if c.check != nil {
		return c.check(name, value)
	}
	return nil
}
