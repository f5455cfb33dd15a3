package av

import (
	"testing"

	"github.com/asticode/go-astiav"
)

func TestLaterTimecode(t *testing.T) {
	for _, c := range []struct {
		code     string
		num, den int
		pictures int
		want     string
	}{
		{"01:02:03:04", 25, 1, 0, "01:02:03:04"},
		{"01:02:03:04", 25, 1, 25, "01:02:04:04"},
		{"01:00:59;28", 30000, 1001, 2, "01:01:00;02"},
		{"01:02:03:04", 25, 1, -4, "01:02:03:00"},
		{"00:00:00:04", 25, 1, -5, ""},
		{"01:02:03;04", 25, 1, 0, ""}, // no drop frames at this rate
		{"01:02:03:04", 0, 1, 0, ""},
		{"soon", 25, 1, 0, ""},
	} {
		if got := LaterTimecode(c.code, astiav.NewRational(c.num, c.den), c.pictures); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestTimecodeAt(t *testing.T) {
	rate := astiav.NewRational
	for _, c := range []struct {
		code     string
		from, to astiav.Rational
		want     string
	}{
		{"01:00:00:12", rate(25, 1), rate(50, 1), "01:00:00:24"},
		{"01:00:00:24", rate(50, 1), rate(25, 1), "01:00:00:12"},
		{"00:01:00;02", rate(30000, 1001), rate(60000, 1001), "00:01:00;04"},
		{"01:00:00:12", rate(25, 1), rate(37, 1), "01:00:00:17"},
		{"01:00:00;12", rate(30000, 1001), rate(25, 1), ""}, // drops no numbers
		{"01:00:00:12", rate(0, 1), rate(50, 1), ""},
		{"none", rate(25, 1), rate(50, 1), ""},
	} {
		if got := TimecodeAt(c.code, c.from, c.to); got != c.want {
			t.Errorf("%s of %v at %v: %q, want %q", c.code, c.from, c.to, got, c.want)
		}
	}
}
