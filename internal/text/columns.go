package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns returns how many columns of a terminal s takes. Terminals differ on emoji that are composed of several: the sum of
// their parts is the most that they take, and a line that is too short does no harm.
func Columns(s string) (n int) {
	for _, r := range s {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	const emoji = 0xfe0f // makes what comes before it an emoji, which some terminals then draw in two columns
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

// gap stands for what is left out. It takes one column.
const gap = "…"

// Cut returns s as OneLine does, in at most width columns. What is left out is in the middle, and more remains of the end: it has
// the number and the format, and names of a series differ there.
func Cut(s string, width int) string {
	s, ok := fitting(s, width)
	if ok {
		return s
	}
	first := head(s, (width-1)/2)
	return first + gap + tail(s[len(first):], width-1-Columns(first))
}

// Clip is Cut for sentences, which are read from their beginning: it leaves out the end.
func Clip(s string, width int) string {
	s, ok := fitting(s, width)
	if ok {
		return s
	}
	return head(s, width-1) + gap
}

// fitting returns s in one line, and whether it can stay like that: it fits, or, as "", there is no room even for a gap.
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
	for i < len(all) && columns(all[i]) == 0 { // an accent whose letter is left out
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

// Bar draws how much is done, 0 to 1, in so many columns: "[###---]". It is empty where there is no room for one.
func Bar(part float64, width int) string {
	cells := width - len("[]")
	if cells < 1 {
		return ""
	}
	n := min(max(0, int(part*float64(cells))), cells)
	return "[" + strings.Repeat("#", n) + strings.Repeat("-", cells-n) + "]"
}
