package text

import (
	"strings"
	"unicode"
)

// wide are the runes that take two columns of a terminal: East Asian wide and full width, and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1}, {0x2648, 0x2653, 1},
		{0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1}, {0x2753, 0x2755, 1}, {0x2795, 0x2797, 1}, {0x2b1b, 0x2b1c, 1}, {0x2e80, 0x303e, 1},
		{0x3041, 0x33ff, 1}, {0x3400, 0x4dbf, 1}, {0x4e00, 0x9fff, 1}, {0xa000, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18aff, 1}, {0x1b000, 0x1b2ff, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1}, {0x1f18e, 0x1f19a, 1},
		{0x1f200, 0x1f320, 1}, {0x1f32d, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f7e0, 0x1f7eb, 1}, {0x1f90c, 0x1faff, 1},
		{0x20000, 0x3fffd, 1},
	},
}

// Columns returns how many columns of a terminal s takes. It rather says too many: a line that is too short does no harm.
func Columns(s string) (n int) {
	for _, r := range s {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

const gap = "..."

// Cut returns s in at most width columns. What is left out is in the middle: names of a series differ at the end.
func Cut(s string, width int) string {
	switch {
	case Columns(s) <= width:
		return s
	case width <= 0:
		return ""
	case width < 2*len(gap):
		return head(s, width)
	}
	room := width - len(gap)
	return head(s, room-room/2) + gap + tail(s, room/2)
}

// Clip returns s in at most width columns, without its end: what is read from its beginning.
func Clip(s string, width int) string {
	if Columns(s) <= width || width < 2*len(gap) {
		return head(s, width)
	}
	return head(s, width-len(gap)) + gap
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
	for i < len(all) && columns(all[i]) == 0 { // what belongs to a rune that is left out
		i++
	}
	return string(all[i:])
}

// Pad returns s cut or filled with blanks to width columns.
func Pad(s string, width int) string {
	s = Cut(s, width)
	return s + strings.Repeat(" ", max(0, width-Columns(s)))
}
