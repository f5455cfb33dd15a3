package text

import (
	"testing"
	"time"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"tape 1.mkv": "tape 1.mkv", "a\nb\x1b[2J": `a\u000ab\u001b[2J`, "x\u202egpj.exe": `x\u202egpj.exe`, "\u009b5A": `\u009b5A`, "é日": "é日",
		"a\u2028b": `a\u2028b`, "bad\xffbyte": `bad\ufffdbyte`,
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestColumnsAndCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"tape.mkv", 8, "tape.mkv"}, {"a-long-name-01.mkv", 12, "a-lon....mkv"}, {"a-long-name-01.mkv", 13, "a-lon...1.mkv"},
		{"abcdef", 3, "abc"}, {"abcdef", 0, ""}, {"abcdef", -1, ""}, {"日本語のテープ01.mkv", 12, "日本....mkv"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"日", 1, ""},
	} {
		got := Cut(c.in, c.width)
		if Columns(got) > max(0, c.width) {
			t.Errorf("%q in %d columns: %q takes %d", c.in, c.width, got, Columns(got))
		}
		if got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.in, c.width, got, c.want)
		}
		if n := Columns(Pad(c.in, c.width)); n != max(0, c.width) {
			t.Errorf("%q padded to %d columns takes %d", c.in, c.width, n)
		}
	}
}

func TestClip(t *testing.T) {
	for width, want := range map[int]string{-1: "", 0: "", 5: "the m", 12: "the mount...", 13: "the mount ...", 30: "the mount is away"} {
		if got := Clip("the mount is away", width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日本\u0301語のテープ01.mkv", 7)
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width > 1000 {
			return
		}
		if got := Cut(s, width); Columns(got) > max(0, width) {
			t.Errorf("%q in %d columns: %q takes %d", s, width, got, Columns(got))
		}
	})
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Clock(0): "0:00", Clock(100 * time.Millisecond): "0:01", Clock(59*time.Minute + 59500*time.Millisecond): "1:00:00",
		Size(999): "999 B", Size(999_999): "1.00 MB", Size(12_340_000): "12.3 MB", Size(123_400_000_000): "123 GB",
		Count(1, "frame"): "1 frame", Count(0, "frame"): "0 frames",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
