package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestUnknownVariables: warnings do not depend on the command.
func TestUnknownVariables(t *testing.T) {
	root := new(app).command()
	root.InitDefaultHelpFlag()
	for variable, want := range map[string]string{
		"VIDFILTER_CFR=1":          "unknown VIDFILTER_CFR in the environment: did you mean VIDFILTER_CRF?",
		"VIDFILTER_R=3":            "unknown VIDFILTER_R in the environment: did you mean VIDFILTER_RADIUS?",
		"VIDFILTER_Y=1":            "unknown VIDFILTER_Y in the environment: did you mean VIDFILTER_OVERWRITE?",
		"VIDFILTER_MAX_PIXLES=1":   "unknown VIDFILTER_MAX_PIXLES in the environment: did you mean VIDFILTER_MAX_PIXELS?",
		"VIDFILTER_radius=1":       "unknown VIDFILTER_radius in the environment: did you mean VIDFILTER_RADIUS?",
		"VIDFILTER_FOO=1":          "unknown VIDFILTER_FOO in the environment: it has no effect",
		"VIDFILTER_=1":             "unknown VIDFILTER_ in the environment: it has no effect",
		"VIDFILTER_HELP=1":         "unknown VIDFILTER_HELP in the environment: it has no effect",
		"VIDFILTER_CRF=1":          "",
		"VIDFILTER_LISTEN=x":       "", // of live
		"VIDFILTER_LIVE_FPS=25":    "",
		"VIDFILTER_FOO=":           "",
		"VIDFILTER_VERSION=2":      "",
		"VIDFILTER_CACHE=/x":       "",
		"VIDFILTER_TESTDRIVER=x=1": "",
		"HOME=/":                   "",
	} {
		for _, own := range []*pflag.FlagSet{root.Flags(), new(pflag.FlagSet)} {
			if said := strings.Join(unknownEnvironment([]string{variable}, own), "; "); said != want {
				t.Errorf("%s: %q, want %q", variable, said, want)
			}
		}
	}
}
