package report

import (
	"fmt"

	"vidfilter/lab/measure"
)

// Milliseconds formats a time with three significant digits, or "" for 0, which is never measured.
func Milliseconds(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 0.1:
		return fmt.Sprintf("%.4f", x)
	case x < 10:
		return fmt.Sprintf("%.3f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Ratio formats a speed-up with three significant digits, or "" for 0.
func Ratio(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Percent formats a share of 1 as a percentage.
func Percent(share float64) string { return fmt.Sprintf("%.1f", 100*share) }

// Spread formats half the range of times as a percentage of their median, or "" for a single time.
func Spread(s measure.Stat) string {
	if s.N < 2 {
		return ""
	}
	return Percent(s.Spread())
}

// Count formats a number, or "" for 0.
func Count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
