package words

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "ｱ": 1, "Ａ": 2, "🎬.mkv": 6, "a\u200db": 2, "한글": 4,
	} {
		if got := Width(in); got != want {
			t.Errorf("Width(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"abcdefghij", 5, "ab…ij"},
		{"abcdefghij", 4, "a…ij"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"日本日本日本", 6, "日…本"},
		{"a\nb", 20, `a\u000ab`},
		{"aaaaaae\u0301b", 3, "a…b"},
	} {
		if got := Middle(c.in, c.columns); got != c.want {
			t.Errorf("Middle(%q, %d) = %q, want %q", c.in, c.columns, got, c.want)
		}
	}
}

func FuzzMiddle(f *testing.F) {
	f.Add("tape 日本.mkv", 7)
	f.Add("a\x1b[2Jb\u202e", 3)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		got := Middle(s, columns)
		if w := Width(got); w > max(columns, 0) {
			t.Errorf("Middle(%q, %d) = %q takes %d columns", s, columns, got, w)
		}
		if utf8.ValidString(s) && strings.ContainsAny(got, "\x1b\n\r\u202e") {
			t.Errorf("%q steers the terminal", got)
		}
	})
}
