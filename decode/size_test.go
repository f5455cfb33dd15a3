package decode

import (
	"strings"
	"testing"
)

func TestDeclaredSize(t *testing.T) {
	const ebml, segment = "\x1a\x45\xdf\xa3", "\x18\x53\x80\x67"
	for name, test := range map[string]struct {
		head string
		want int64
	}{
		"empty":             {"", 0},
		"other":             {"....ftypisom", 0},
		"avi":               {"RIFF\x10\x27\x00\x00AVI LIST", 10008},
		"avi, padded":       {"RIFF\x11\x27\x00\x00AVI LIST", 10008},
		"avi, not known":    {"RIFF\xff\xff\xff\xffAVI LIST", 0},
		"wave":              {"RIFF\x10\x27\x00\x00WAVEfmt ", 0},
		"matroska":          {ebml + "\x83abc" + segment + "\x01\x00\x00\x00\x00\x00\x01\x00", 20 + 256},
		"matroska, short":   {ebml + "\x83abc" + segment + "\x40\x02", 14 + 2},
		"matroska, live":    {ebml + "\x83abc" + segment + "\x01\xff\xff\xff\xff\xff\xff\xff", 0},
		"matroska, cut":     {ebml + "\x83abc" + segment + "\x01\x00", 0},
		"matroska, no size": {ebml + "\x83abc" + segment, 0},
		"matroska, huge":    {ebml + "\x08\xff\xff\xff\xff" + segment, 0},
		"matroska, zero":    {ebml + "\x00" + strings.Repeat("\x00", 20), 0},
		"another element":   {ebml + "\x83abc" + "\x12\x34\x56\x78\x81", 0},
	} {
		if got := declaredSize([]byte(test.head)); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
