package encode

import (
	"slices"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
)

// The described encoders are in this build, once each.
func TestCodecs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range codecs {
		if seen[c.Name] || astiav.FindEncoderByName(c.Name) == nil {
			t.Errorf("%s is described twice, or not in this build", c.Name)
		}
		seen[c.Name] = true
		if c.Presets != nil && !slices.Contains(c.Presets, c.Preset) {
			t.Errorf("%s: the default %q is none of its presets", c.Name, c.Preset)
		}
	}
	if c := CodecOf("nonesuch"); c.Joins() || c.CRF >= 0 || c.Preset != "" {
		t.Errorf("an encoder that is not described has defaults: %+v", c)
	}
}

// The table of formats has names that FFmpeg knows.
func TestFormatNames(t *testing.T) {
	for _, f := range formats.All {
		if f.Family == formats.Picture && astiav.FindEncoderByName(f.Name) == nil {
			t.Errorf("no encoder of %s", f.Name)
		}
		for _, name := range append(slices.Clone(f.Codecs), f.Text) {
			if name != "" && codecNamed(name) == nil {
				t.Errorf("%s: FFmpeg has no codec %q", f.Name, name)
			}
		}
	}
}
