package text

import (
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	names := []string{"radius", "range", "distance", "device", "crf", "ts"}
	for in, want := range map[string]string{
		"raduis": "radius", "rage": "range", "dist": "distance", "cfr": "crf", "RANGE": "range", "x": "", "d": "",
		"": "", "colour": "", "crff": "crf", "distanze": "distance", strings.Repeat("radius", 50): "",
	} {
		if got := Closest(in, names); got != want {
			t.Errorf("Closest(%q) = %q, want %q", in, got, want)
		}
	}
}
