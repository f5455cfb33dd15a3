// Package text puts names, sizes and times into words for people: the same in the terminal and on the status page.
package text

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
)

// OneLine makes control characters visible, and those that turn the direction of writing: a file's name may hold any, and would
// move the cursor or look like another name.
func OneLine(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
}

// Clock writes a time as H:MM:SS or M:SS, rounded up: what has time left is not at 0:00.
func Clock(d time.Duration) string {
	n := int64(math.Ceil(d.Seconds()))
	if n < 3600 {
		return fmt.Sprintf("%d:%02d", n/60, n%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", n/3600, n/60%60, n%60)
}

// Size writes bytes in decimal units with three digits.
func Size(n int64) string {
	x, units := float64(n), []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	for x >= 999.5 && len(units) > 1 {
		x, units = x/1000, units[1:]
	}
	switch {
	case units[0] == "B" || x >= 99.95:
		return fmt.Sprintf("%.0f %s", x, units[0])
	case x >= 9.995:
		return fmt.Sprintf("%.1f %s", x, units[0])
	}
	return fmt.Sprintf("%.2f %s", x, units[0])
}

// Count writes a number with what it counts: "1 frame", "2 frames".
func Count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
