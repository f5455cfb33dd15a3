package spec

import (
	"slices"
	"strings"

	"vidfilter/internal/fidelity"
)

// Param is a parameter of an encoder, by the encoder's own name.
type Param struct{ Name, Value string }

// Params are parameters that were checked.
type Params []Param

// String returns the parameters as NAME=VALUE:NAME=VALUE.
func (all Params) String() string {
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = p.Name + "=" + p.Value
	}
	return strings.Join(parts, ":")
}

// Has reports whether a parameter is given.
func (all Params) Has(name string) bool {
	return slices.ContainsFunc(all, func(p Param) bool { return p.Name == name })
}

// Value returns the value of a parameter, the last one if it is given again; "" if it is not given.
func (all Params) Value(name string) (value string) {
	for _, p := range all {
		if p.Name == name {
			value = p.Value
		}
	}
	return value
}

// tagging lists parameters of x264 and x265 that set a property of the video, by its key.
var tagging = map[string]string{
	"colorprim": "primaries", "transfer": "transfer", "colormatrix": "matrix", "fullrange": "range", "range": "range",
	"chromaloc": "chroma_location", "sar": "sample_aspect", "mastering-display": "mastering_display", "master-display": "mastering_display",
	"cll": "content_light", "max-cll": "content_light", "frame-packing": "stereo", "interlaced": "field_order", "fake-interlaced": "field_order",
	"tff": "field_order", "bff": "field_order", "pic-struct": "field_order", "alternative-transfer": "transfer", "atc-sei": "transfer",
}

// Tell notes the properties that the parameters may change.
func (all Params) Tell(told *fidelity.Told) {
	for _, p := range all {
		if key := tagging[p.Name]; key != "" {
			told.Add(fidelity.Video, "", key)
		}
	}
}

// Set sets the parameters as FFmpeg's options of the encoder.
func (all Params) Set(set func(option, value string)) {
	for _, p := range all {
		set(p.Name, p.Value)
	}
}
