package decode

import (
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
)

func TestTimecodeOfGroups(t *testing.T) {
	const frame = 3600 // of 1/90000 s
	g := groups{at: map[int64]units.GroupTime{
		0:          {Hours: 1, Seconds: 59, Pictures: 20, Before: 2},
		12 * frame: {Hours: 1, Minutes: 1, Seconds: 0, Pictures: 7, Before: 2},
		24 * frame: {Hours: 1, Minutes: 1, Seconds: 0, Pictures: 99},
	}}
	for pts, want := range map[int64]string{
		0: "01:00:59:22", -frame: "01:00:59:21", 2 * frame: "01:00:59:24", 4 * frame: "01:01:00:01", 11 * frame: "01:01:00:08",
		12 * frame: "01:01:00:09", 24 * frame: "", av.NoPTS: "",
	} {
		if got := g.timecode(pts, astiav.NewRational(1, 90000), astiav.NewRational(25, 1)); got != want {
			t.Errorf("%d: %q instead of %q", pts/frame, got, want)
		}
	}
	zero := groups{at: map[int64]units.GroupTime{0: {Before: 2}}}
	drop := groups{at: map[int64]units.GroupTime{0: {Seconds: 59, Pictures: 28, Drop: true, Before: 2}}}
	for _, c := range []struct {
		g    groups
		rate astiav.Rational
		want string
	}{
		{zero, astiav.NewRational(25, 1), ""}, {groups{}, astiav.NewRational(25, 1), ""}, {drop, astiav.NewRational(25, 1), ""},
		{drop, astiav.NewRational(30000, 1001), "00:01:00;02"}, {g, astiav.NewRational(0, 1), ""},
	} {
		if got := c.g.timecode(0, astiav.NewRational(1, 90000), c.rate); got != c.want {
			t.Errorf("%v at %v: %q instead of %q", c.g, c.rate, got, c.want)
		}
	}
}
