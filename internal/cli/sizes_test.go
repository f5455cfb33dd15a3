package cli

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "1.5": 1500 * time.Millisecond, ".5": 500 * time.Millisecond, "5.": 5 * time.Second,
		"55s": 55 * time.Second, "200ms": 200 * time.Millisecond, "1.5ms": 1500 * time.Microsecond, "5us": 5 * time.Microsecond,
		"1:02": 62 * time.Second, "12:03:45": 12*time.Hour + 3*time.Minute + 45*time.Second,
		"0:00:00.123456789": 123456 * time.Microsecond, "100:00:00": 100 * time.Hour, "1.5us": time.Microsecond,
	} {
		if got, err := ParseTime(in); err != nil || got != want {
			t.Errorf("parseTime(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{"1:02:03.4", "90", "200ms", "5us", ".", "9223372036854775807", "1:2", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseTime(s)
		if err == nil && (d < 0 || d > maxTime+time.Hour || d%time.Microsecond != 0) {
			t.Errorf("parseTime(%q) = %v", s, d)
		}
		if l, err := ParseLength(s); err == nil && l <= 0 {
			t.Errorf("parseLength(%q) = %v", s, l)
		}
	})
}
