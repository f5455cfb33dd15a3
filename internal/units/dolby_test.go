package units_test

import (
	"testing"

	"vidfilter/internal/units"
	"vidfilter/internal/units/unitstest"
)

func TestDolbyProfile(t *testing.T) {
	for _, profile := range []int{5, 7, 8} {
		rpu := unitstest.RPU(profile, 100)
		if got := units.DolbyProfile(rpu); got != profile {
			t.Errorf("profile %d instead of %d", got, profile)
		}
		if got := units.DolbyProfile(rpu[:8]); got != 0 {
			t.Errorf("a cut RPU is of profile %d", got)
		}
	}
}
