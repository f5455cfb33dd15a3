package formats

import (
	"slices"
	"strings"
	"testing"
)

// No name or ending stands for two formats.
func TestUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All {
		for _, word := range slices.Concat([]string{"muxer " + f.Name}, f.Names, f.Endings, f.Sources) {
			if seen[word] && slices.Contains(Of(MKV).Sources, word) && slices.Contains(f.Endings, word) {
				continue // MKV holds all that such an input may
			}
			if seen[word] || word != strings.ToLower(word) {
				t.Errorf("%q of %s is there twice, or not lower case", word, f.Name)
			}
			seen[word] = true
		}
		for _, ending := range f.Accepted {
			if !slices.Contains(f.Sources, ending) {
				t.Errorf("%s: a file named %s is accepted as output but not kept as input", f.Name, ending)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{name(Named("JPEG")), "mjpeg"}, {name(Named("mkv")), MKV}, {name(Named("avi")), ""},
		{name(ByEnding(".M2TS")), TS}, {name(ByEnding(".tif")), "tiff"}, {name(ByEnding(".avi")), ""}, {name(ByEnding("")), ""},
		{name(BySource(".AVI")), MKV}, {name(BySource(".m2ts")), TS}, {name(BySource(".webm")), MKV}, {name(ByEnding(".webm")), WebM},
		{name(ByEnding(".mxf")), MXF}, {name(BySource(".png")), ""},
		{Of(MKV).Muxer(), "matroska"}, {Of("png").Muxer(), "image2pipe"}, {Of("webm").Muxer(), "webm"},
		{name(ByEnding(".y4m")), Y4M}, {name(BySource(".y4m")), MKV}, {name(BySource(".nut")), MKV}, {Of(Y4M).Muxer(), "yuv4mpegpipe"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	pictures := 0
	for _, f := range All {
		if f.Family == Picture {
			pictures++
		}
	}
	if pictures != 5 || Of(Null).Video() || !Of(MP4).Video() {
		t.Errorf("%d formats are pictures", pictures)
	}
}

func name(f Format, _ bool) string { return f.Name }

func TestLanguageCode(t *testing.T) {
	for _, c := range []struct{ format, code, want string }{
		{MKV, "de", "de"}, {MKV, "pt-BR", "pt-BR"}, {MKV, "", ""},
		{MP4, "de", "deu"}, {MP4, "ger", "ger"}, {MP4, "gsw", "gsw"}, {MP4, "pt-BR", ""}, {MP4, "q9", ""}, {MP4, "", ""},
		{TS, "fr", "fra"}, {MOV, "de", "ger"}, {MOV, "nl", "dut"}, {MOV, "fre", "fra"}, {MOV, "gsw", ""}, {MOV, "en", "eng"},
	} {
		f := Of(c.format)
		if got := f.LanguageCode(c.code); got != c.want {
			t.Errorf("%s: %q becomes %q instead of %q", c.format, c.code, got, c.want)
		}
	}
	for _, same := range [][]string{{"de", "deu", "ger"}, {"fr", "fra", "fre"}, {"en", "eng"}, {"pt-BR"}} {
		for _, code := range same {
			if got := OneLanguage(code); got != OneLanguage(same[0]) {
				t.Errorf("%q is %q, %q is %q", code, got, same[0], OneLanguage(same[0]))
			}
		}
	}
}
