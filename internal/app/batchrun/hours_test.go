package batchrun

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may lack it

	"vidfilter/internal/e2e"
)

// Tasks begin within the windows only, over midnight, at the days on which windows begin, and by
// the clock of the zone when it is changed.
func TestHours(t *testing.T) {
	const days = "mon-fri 22:00-06:00,sat,sun"
	for _, c := range []struct{ hours, zone, now, wait string }{
		{"22:00-06:00", "UTC", "2026-11-25 21:59:59", "it waits until 22:00 UTC (--hours)"}, // a Wednesday
		{"22:00-06:00", "UTC", "2026-11-25 22:00:00", ""},
		{"22:00-06:00", "UTC", "2026-11-26 05:59:59", ""},
		{"22:00-06:00", "UTC", "2026-11-26 06:00:00", "it waits until 22:00 UTC (--hours)"},
		{"9:00-12:00,13:30-17:00", "UTC", "2026-11-25 12:00:00", "it waits until 13:30 UTC (--hours)"},
		{"9:00-12:00,13:30-17:00", "UTC", "2026-11-25 17:00:00", "it waits until thu 09:00 UTC (--hours)"},
		{"00:00-24:00", "UTC", "2026-11-25 23:59:59", ""},
		{"18:00-24:00", "UTC", "2026-11-25 00:00:00", "it waits until 18:00 UTC (--hours)"},
		{days, "UTC", "2026-11-27 21:00:00", "it waits until 22:00 UTC (--hours)"}, // Friday
		{days, "UTC", "2026-11-28 05:00:00", ""},
		{days, "UTC", "2026-11-29 23:59:59", ""}, // Sunday
		{days, "UTC", "2026-11-30 00:00:00", "it waits until 22:00 UTC (--hours)"},
		{"sat 22:00-06:00", "UTC", "2026-11-29 05:00:00", ""},
		{"sat 22:00-06:00", "UTC", "2026-11-29 06:00:00", "it waits until sat 22:00 UTC (--hours)"},
		{"sat 08:00-09:00", "UTC", "2026-11-28 09:30:00", "it waits until sat 08:00 UTC (--hours)"},
		{"Fri-Mon", "UTC", "2026-11-26 12:00:00", "it waits until fri 00:00 UTC (--hours)"},
		{"fri-mon", "UTC", "2026-11-30 12:00:00", ""},
		{"22:00-06:00", "Asia/Tokyo", "2026-11-25 13:30:00", ""}, // 22:30 there
		{"22:00-06:00", "Asia/Kolkata", "2026-11-25 13:30:00", "it waits until 22:00 IST (--hours)"},

		// On 29 March clocks go from 2:00 to 3:00, at 1:00 UTC.
		{"02:30-04:00", "Europe/Berlin", "2026-03-29 00:59:59", "it waits until 02:30 CET (--hours)"},
		{"02:30-04:00", "Europe/Berlin", "2026-03-29 01:00:00", ""},
		{"22:00-06:00", "Europe/Berlin", "2026-03-29 03:59:59", ""},
		{"22:00-06:00", "Europe/Berlin", "2026-03-29 04:00:00", "it waits until 22:00 CEST (--hours)"},
		// On 25 October clocks go from 3:00 back to 2:00, at 1:00 UTC.
		{"22:00-06:00", "Europe/Berlin", "2026-10-25 04:59:59", ""},
		{"22:00-06:00", "Europe/Berlin", "2026-10-25 05:00:00", "it waits until 22:00 CET (--hours)"},
		{"02:00-03:00", "Europe/Berlin", "2026-10-25 00:30:00", ""},
		{"02:00-03:00", "Europe/Berlin", "2026-10-25 01:30:00", ""}, // the same hour again
		{"02:00-03:00", "Europe/Berlin", "2026-10-25 02:00:00", "it waits until mon 02:00 CET (--hours)"},
	} {
		zone, err := time.LoadLocation(c.zone)
		e2e.Must(t, err)
		now, err := time.Parse(time.DateTime, c.now)
		e2e.Must(t, err)
		h, err := parseHours(c.hours)
		e2e.Must(t, err)
		if got := h.wait(now.In(zone)); got != c.wait {
			t.Errorf("%s at %s UTC in %s: %q, want %q", c.hours, c.now, c.zone, got, c.wait)
		}
	}
	if why := hours(nil).hold(); why != "" {
		t.Errorf("without windows: %q", why)
	}
	for _, wrong := range []string{"", "22:00", "22-06", "22:00-22:00", "24:00-06:00", "25:00-06:00", "someday", "mon-", "mon tue 22:00-06:00",
		"sat,sun,mon-fri 22:00-06:00", "22:00-06:00,,", "22:00-06:00-07:00", "mon-fri-sun"} {
		if h, err := parseHours(wrong); err == nil {
			t.Errorf("%q is %+v", wrong, h)
		}
	}
}
