package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns returns the width of s on a terminal. Terminals differ on composed emoji; the sum of
// the parts is an upper bound, and too short a line does no harm.
func Columns(s string) (n int) {
	for _, r := range s {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	// turns the rune before it into an emoji, which some terminals draw in two columns
	const emoji = 0xfe0f
	switch {
	case r < 0x300 || r == emoji:
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

// gap marks omitted text. It takes one column.
const gap = "…"

// Cut returns s, as by OneLine, in at most width columns. It omits text in the middle, and keeps
// more of the end, where names of a series differ.
func Cut(s string, width int) string {
	s, ok := fitting(s, width)
	if ok {
		return s
	}
	first := head(s, (width-1)/2)
	return first + gap + tail(s[len(first):], width-1-Columns(first))
}

// Clip is Cut for sentences: it omits the end.
func Clip(s string, width int) string {
	s, ok := fitting(s, width)
	if ok {
		return s
	}
	return head(s, width-1) + gap
}

// fitting returns s in one line, and whether that is the final result: s fits, or there is no
// room even for a gap.
func fitting(s string, width int) (line string, ok bool) {
	if width < 1 {
		return "", true
	}
	s = OneLine(s)
	return s, Columns(s) <= width
}

func head(s string, width int) string {
	for i, r := range s {
		if width -= columns(r); width < 0 {
			return s[:i]
		}
	}
	return s
}

func tail(s string, width int) string {
	all := []rune(s)
	i := len(all)
	for i > 0 && width >= columns(all[i-1]) {
		i--
		width -= columns(all[i])
	}
	for i < len(all) && columns(all[i]) == 0 { // an accent without its letter
		i++
	}
	return string(all[i:])
}

// Pad returns s cut or filled with blanks to width columns.
func Pad(s string, width int) string {
	s = Cut(s, width)
	return s + blanks(s, width)
}

// PadLeft is Pad for numbers: the blanks come first.
func PadLeft(s string, width int) string {
	s = Cut(s, width)
	return blanks(s, width) + s
}

func blanks(s string, width int) string { return strings.Repeat(" ", max(0, width-Columns(s))) }

// Bar draws the share done, 0 to 1, in the given number of columns: "[###---]". It is empty if
// there is no room for one.
func Bar(part float64, width int) string {
	cells := width - len("[]")
	if cells < 1 {
		return ""
	}
	n := min(max(0, int(part*float64(cells))), cells)
	return "[" + strings.Repeat("#", n) + strings.Repeat("-", cells-n) + "]"
}

// Wrap breaks words into lines of at most width bytes, with a newline at the end.
func Wrap(s string, width int) string {
	var b strings.Builder
	col := 0
	for word := range strings.FieldsSeq(s) {
		switch {
		case col == 0:
		case col+1+len(word) > width:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += len(word)
	}
	return b.String() + "\n"
}
