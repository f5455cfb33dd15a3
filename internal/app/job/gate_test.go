package job

import (
	"testing"

	"vidfilter/internal/fidelity"
)

// --stats has no picture to compare with where filters change the size or the rate.
func TestAllow(t *testing.T) {
	for _, c := range []struct {
		stats   bool
		turned  []string
		refused bool
	}{
		{true, nil, false}, {true, []string{"range", "sample_aspect"}, false}, {true, []string{"depth", "size"}, true},
		{true, []string{fidelity.Rate}, true}, {false, []string{"size", fidelity.Rate}, false},
	} {
		j := &job{o: &Options{Stats: c.stats}}
		if err := j.allow(nil, c.turned); (err != nil) != c.refused {
			t.Errorf("--stats %v, changes of %v: %v", c.stats, c.turned, err)
		}
	}
}
