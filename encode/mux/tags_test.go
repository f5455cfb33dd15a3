package mux

import (
	"slices"
	"testing"

	"vidfilter/encode/formats"
)

// The table of formats has codecs that FFmpeg knows.
func TestCodecNames(t *testing.T) {
	for _, f := range formats.All {
		for _, name := range append(slices.Clone(f.Codecs), f.Text, f.Audio) {
			if name != "" && name != formats.Dropped && name != formats.PCM && codecNamed(name) == nil {
				t.Errorf("%s: FFmpeg has no codec %q", f.Name, name)
			}
		}
	}
}
