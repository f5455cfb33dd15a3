package encode

import (
	"fmt"
	"slices"
	"strings"

	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
)

type param struct{ name, value string }

// Params are parameters of an encoder that were checked. The zero value has none.
type Params struct{ list []param }

// String returns the parameters in the form that ParseParams and FFmpeg read.
func (all Params) String() string {
	parts := make([]string, len(all.list))
	for i, p := range all.list {
		parts[i] = p.name + "=" + p.value
	}
	return strings.Join(parts, ":")
}

// Has reports whether a parameter is given.
func (all Params) Has(name string) bool {
	return slices.ContainsFunc(all.list, func(p param) bool { return p.name == name })
}

// value returns the value of a parameter, the last one if it is given again; "" if it is not given.
func (all Params) value(name string) (value string) {
	for _, p := range all.list {
		if p.name == name {
			value = p.value
		}
	}
	return value
}

// ParseParams reads NAME=VALUE:NAME=VALUE, parameters by the encoder's own names. It takes those
// that are listed, since others may open files.
func (c Codec) ParseParams(s string) (all Params, err error) {
	if s == "" {
		return Params{}, nil
	}
	if c.Name == X264 {
		return ParseX264(s)
	}
	if len(c.params) == 0 {
		return Params{}, misused("leave it out", "the encoder %s has no option --encoder-params", c.Name)
	}
	if i := strings.IndexAny(s, "\\'\" \t\r\n\v\f"); i >= 0 {
		return Params{}, misused("as NAME=VALUE:NAME=VALUE", "--encoder-params cannot hold %q", s[i])
	}
	for part := range strings.SplitSeq(s, ":") {
		name, value, given := strings.Cut(part, "=")
		if err := c.allow(name, value, given); err != nil {
			return Params{}, err
		}
		all.list = append(all.list, param{name, value})
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

// tagging lists parameters of x264 and x265 that set a property of the video, by its key.
var tagging = map[string]string{
	"colorprim": "primaries", "transfer": "transfer", "colormatrix": "matrix", "fullrange": "range", "range": "range",
	"chromaloc": "chroma_location", "sar": "sample_aspect", "mastering-display": "mastering_display", "master-display": "mastering_display",
	"cll": "content_light", "max-cll": "content_light", "frame-packing": "stereo", "interlaced": "field_order", "fake-interlaced": "field_order",
	"tff": "field_order", "bff": "field_order", "pic-struct": "field_order", "alternative-transfer": "transfer", "atc-sei": "transfer",
}

// tell notes the properties that the parameters may change.
func (all Params) tell(told *fidelity.Told) {
	for _, p := range all.list {
		if key := tagging[p.name]; key != "" {
			told.Add(fidelity.Video, "", key)
		}
	}
}

// own sets the parameters as FFmpeg's options of the encoder.
func (all Params) own(set func(option, value string)) {
	for _, p := range all.list {
		set(p.name, p.value)
	}
}
