// Package text formats names, sizes, times and tables for people, the same on the terminal, in
// reports and on the status page, and suggests corrections of typos.
package text

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// OneLine makes control characters, direction marks and invalid text visible. Names and metadata
// come from strangers, and must not steer the terminal, fake a second line or look like another
// name.
func OneLine(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "\\x%02x", s[i])
		case unprintable(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
}

// Clock formats seconds as H:MM:SS or M:SS, rounded up: only no time at all is 0:00.
func Clock(seconds float64) string {
	const most = 1 << 53
	if math.IsNaN(seconds) {
		seconds = 0
	}
	n := int64(math.Ceil(min(max(0, seconds), most)))
	if n < 3600 {
		return fmt.Sprintf("%d:%02d", n/60, n%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", n/3600, n/60%60, n%60)
}

// Size formats bytes in decimal units with three digits.
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

// Count formats a number with its noun: "1 frame", "2 frames".
func Count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Progress formats a count with its total: "3/40 frames". total is 0 if unknown.
func Progress[N int | int64](n, total N, what string) string {
	if total <= 0 {
		return Count(n, what)
	}
	return fmt.Sprintf("%d/%d %ss", n, total, what)
}

// Percent formats a fraction, rounded down: only complete work is at 100%.
func Percent(part float64) string { return fmt.Sprintf("%d%%", int(part*100)) }

// Some formats a number of a kind, such as "2 failed", or "" for 0.
func Some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

// List joins the non-empty parts with commas.
func List(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p != "" && b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p)
	}
	return b.String()
}

// Seconds returns a length of time such as 1m30.5s.
func Seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

// JSON writes an indented document.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// ShellQuote quotes s for a POSIX shell.
func ShellQuote(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:,+=@%", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
