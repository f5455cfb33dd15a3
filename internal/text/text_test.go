package text

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"tape 1.mkv": "tape 1.mkv", "a\nb\x1b[2J": `a\u000ab\u001b[2J`, "x\u202egpj.exe": `x\u202egpj.exe`, "\u009b5A": `\u009b5A`, "é日": "é日",
		"a\u2028b": `a\u2028b`, "bad\xffbyte": `bad\xffbyte`, `a\u000ab`: `a\u000ab`,
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0:00", 0.001: "0:01", 0.1: "0:01", 59.4: "1:00", 61: "1:01", 3599.5: "1:00:00", 3661: "1:01:01", 36061: "10:01:01",
		100 * 3600: "100:00:00", -5: "0:00", 1e300: "2501999792983:36:32", math.Inf(1): "2501999792983:36:32", math.NaN(): "0:00",
	} {
		if got := Clock(seconds); got != want {
			t.Errorf("%g s: %s, want %s", seconds, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB", 99960: "100 kB", 999_499: "999 kB", 999_500: "1.00 MB",
		999_999: "1.00 MB", 12_345_678: "12.3 MB", 1_500_000_000: "1.50 GB", 123_400_000_000: "123 GB", 1 << 40: "1.10 TB",
		1 << 62: "4.61 EB", math.MaxInt64: "9.22 EB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	for got, want := range map[string]string{
		Count(1, "frame"): "1 frame", Count(int64(0), "frame"): "0 frames", Progress(3, 40, "part"): "3/40 parts", Progress(0, 1, "part"): "0/1 parts",
		Progress(int64(1), 0, "frame"): "1 frame", Progress(2, -1, "frame"): "2 frames", Percent(0): "0%", Percent(0.999): "99%", Percent(1): "100%",
		Some(0, "failed"): "", Some(2, "failed"): "2 failed",
		List(): "", List("", "a", "", "b"): "a, b", List("a", ""): "a",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestColumns(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "ｱ": 1, "Ａ": 2, "🎬.mkv": 6, "a\u200db": 2, "한글": 4, "❤": 1, "❤\ufe0f": 2, "a\u00adb": 3,
	} {
		if got := Columns(in); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"tape.mkv", 8, "tape.mkv"}, {"a-long-name-01.mkv", 12, "a-lon…01.mkv"}, {"a-long-name-01.mkv", 13, "a-long…01.mkv"},
		{"short", 5, "short"}, {"abcdefghij", 5, "ab…ij"}, {"abcdefghij", 4, "a…ij"}, {"abcdef", 3, "a…f"}, {"abc", 2, "…c"},
		{"abc", 1, "…"}, {"abcdef", 0, ""}, {"abcdef", -1, ""}, {"日本日本日本", 6, "日…本"}, {"日本語のテープ01.mkv", 12, "日本…01.mkv"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"aaaaaae\u0301b", 3, "a…b"}, {"日", 1, "…"}, {"a\nb", 20, `a\u000ab`},
	} {
		if got := Cut(c.in, c.width); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestPad(t *testing.T) {
	for _, c := range []struct {
		in          string
		width       int
		left, right string
	}{
		{"日本", 6, "日本  ", "  日本"}, {"12", 2, "12", "12"}, {"abcd", 3, "a…d", "a…d"}, {"日本日本", 4, "…本 ", " …本"}, {"a", 0, "", ""}, {"a", -1, "", ""},
	} {
		if left, right := Pad(c.in, c.width), PadLeft(c.in, c.width); left != c.left || right != c.right {
			t.Errorf("%q padded to %d columns: %q and %q, want %q and %q", c.in, c.width, left, right, c.left, c.right)
		}
	}
}

func TestClip(t *testing.T) {
	for width, want := range map[int]string{-1: "", 0: "", 1: "…", 5: "the …", 12: "the mount i…", 13: "the mount is…", 17: "the mount is away",
		30: "the mount is away"} {
		if got := Clip("the mount is away", width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	if got, want := Clip("日本\n", 4), "日…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzColumns(f *testing.F) {
	f.Add("tape 日本\u0301語のテープ01.mkv", 7)
	f.Add("a\x1b[2Jb\u202e\xff", 3)
	f.Add("❤\ufe0f❤\ufe0f", 3)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = min(width, 1000)
		for _, got := range []string{Cut(s, width), Clip(s, width)} {
			if n := Columns(got); n > max(0, width) {
				t.Errorf("%q in %d columns: %q takes %d", s, width, got, n)
			}
			if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\n\r\u202e") {
				t.Errorf("%q steers the terminal", got)
			}
		}
		for _, got := range []string{Pad(s, width), PadLeft(s, width)} {
			if n := Columns(got); n != max(0, width) {
				t.Errorf("%q padded to %d columns takes %d", s, width, n)
			}
		}
	})
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		part  float64
		width int
		want  string
	}{{0, 6, "[----]"}, {0.5, 6, "[##--]"}, {0.99, 6, "[###-]"}, {1, 6, "[####]"}, {2, 6, "[####]"}, {-1, 6, "[----]"}, {1, 3, "[#]"}, {1, 2, ""}, {1, -1, ""}} {
		if got := Bar(c.part, c.width); got != c.want {
			t.Errorf("%g in %d columns: %q, want %q", c.part, c.width, got, c.want)
		}
	}
}
