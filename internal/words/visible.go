package words

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Visible makes control characters visible: file names and metadata come from strangers and must not
// steer the terminal or fake a second line.
func Visible(s string) string {
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

func unprintable(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Width returns how many columns of a terminal a text takes. Terminals differ on emoji that are composed of several; the
// sum of their parts is the most that they take.
func Width(s string) (columns int) {
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Middle returns s, visible, with its middle cut out where it takes more than the given columns. The end of a name tells more than
// the middle: it has the number and the format.
func Middle(s string, columns int) string {
	s = Visible(s)
	if Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	runes := []rune(s)
	head, used := 0, 0
	for ; head < len(runes) && used+runeWidth(runes[head]) <= (columns-1)/2; head++ {
		used += runeWidth(runes[head])
	}
	tail := len(runes)
	for ; tail > head && used+1+runeWidth(runes[tail-1]) <= columns; tail-- {
		used += runeWidth(runes[tail-1])
	}
	for tail < len(runes) && runeWidth(runes[tail]) == 0 {
		tail++ // an accent whose letter is gone
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

// End is Middle for sentences: it cuts off the end.
func End(s string, columns int) string {
	s = Visible(s)
	if Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}
