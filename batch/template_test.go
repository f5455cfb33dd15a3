package batch

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/encode/formats"
	"vidfilter/internal/e2e"
)

func TestTemplate(t *testing.T) {
	for _, c := range []struct {
		template string
		v        values
		want     string
	}{
		{"{stem}{ext}", values{name: "a.mkv"}, "a.mkv"},
		{"{stem}{ext}", values{name: "a.mkv", dir: "x/y", below: true}, "x/y/a.mkv"},
		{"{stem}{ext}", values{name: "a.mkv", dir: "tapes"}, "a.mkv"},
		{"{dir}/{stem}.clean{ext}", values{name: "a.b.mp4", dir: "x/y", below: true}, "x/y/a.b.clean.mp4"},
		{"{dir}/{stem}{ext}", values{name: "a.mp4", dir: "tapes"}, "tapes/a.mp4"},
		{"{dir}/{stem}{ext}", values{name: "a.mp4", below: true}, "a.mp4"},
		{"clean/{stem}{ext}", values{name: "a.mp4", dir: "x", below: true}, "x/clean/a.mp4"},
		{"{index:04}-{stem}{ext}", values{name: "a.mp4", index: 7}, "0007-a.mp4"},
		{"{index}{ext}", values{name: "a.mp4", index: 12345}, "12345.mp4"},
		{"{name}.mkv", values{name: "a.avi"}, "a.avi.mkv"},
		{"{{{stem}}}{ext}", values{name: "a.mov"}, "{a}.mov"},
		{"./a//{stem}{ext}", values{name: "a.mov"}, "a/a.mov"},
		{"{stem}{ext}", values{name: "a.AVI"}, "a.mkv"},
		{"{stem}{ext}", values{name: "a.MP4"}, "a.MP4"},
		{"{stem}{ext}", values{name: "a.m2ts"}, "a.ts"},
		{"{stem}{ext}", values{name: "a.webm"}, "a.mkv"},
		{"{stem}{ext}", values{name: "a.3gp"}, "a.mp4"},
		{"{stem}{ext}", values{name: "a.png"}, "a.png"},
		{"{stem}{ext}", values{name: "noending"}, "noending.mkv"},
		{"{stem}{ext}", values{name: ".mkv"}, ".mkv.mkv"},
		{"{stem}{ext}", values{name: "a.avi", format: "mp4"}, "a.mp4"},
		{"{stem}{ext}", values{name: "a.m4v", format: "MP4"}, "a.m4v"},
		{"{stem}.xyz", values{name: "a.m4v", format: "mp4"}, "a.xyz"},
		{"{stem}{ext}", values{name: "-rf.mp4"}, "_rf.mp4"},
		{"{stem}{ext}", values{name: "日本.mp4"}, "日本.mp4"},
	} {
		p, err := parseTemplate(c.template)
		if err != nil {
			t.Errorf("%q: %v", c.template, err)
			continue
		}
		if got, err := p.output(c.v); got != c.want || err != nil {
			t.Errorf("%q of %+v: %q, %v; want %q", c.template, c.v, got, err, c.want)
		}
	}
}

func TestTemplateRefused(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "empty",
		"{stme}{ext}":           "did you mean {stem}?",
		"{radius}":              "unknown field {radius}",
		"{}":                    "unknown field {}",
		"{stem":                 `lone "{"`,
		"stem}":                 `lone "}"`,
		"a{ext}":                "the same name",
		"{stem:3}{ext}":         "only {index} takes a width",
		"{index:4}":             "only {index} takes a width",
		"{index:}":              "only {index} takes a width",
		"{index:0999999999999}": "only {index} takes a width",
		"/tmp/{stem}{ext}":      "begins with a slash",
	} {
		_, err := parseTemplate(in)
		wantError(t, err, want)
	}
	for in, want := range map[string]string{
		"../{stem}{ext}":                         "leads out of the root",
		"{stem}/../../{name}.ts":                 "leads out of the root",
		"{stem}/":                                "a folder's",
		".vidfilter/{stem}{ext}":                 "keeps its state",
		"{stem}.flac":                            "no ending that can be written",
		"{name}":                                 "no ending that can be written",
		"{stem}\x00{ext}":                        "NUL",
		strings.Repeat("x", 250) + "{stem}{ext}": "too long",
	} {
		p, err := parseTemplate(in)
		e2e.Must(t, err)
		_, err = p.output(values{name: "tape.avi"})
		wantError(t, err, want)
	}
}

// Any template gives an output below the root, with a name that is no option.
func FuzzTemplate(f *testing.F) {
	f.Add("{dir}/{index:04}-{stem}.clean{ext}", "a.avi", "x/../..", true)
	f.Add("{{}}{name}.mkv", "-x", "", false)
	f.Fuzz(func(t *testing.T, text, name, dir string, below bool) {
		p, err := parseTemplate(text)
		if err != nil {
			return
		}
		got, err := p.output(values{name: name, dir: dir, below: below, index: 3})
		if err != nil {
			return
		}
		if !filepath.IsLocal(got) || got != path.Clean(got) || strings.HasPrefix(got, "-") || strings.ContainsRune(got, 0) ||
			strings.HasPrefix(got+"/", StateDir+"/") {
			t.Errorf("%q of %q in %q: %q", text, name, dir, got)
		}
	})
}

func TestEndings(t *testing.T) {
	for _, f := range formats.All {
		for _, ext := range slices.Concat(f.Endings, f.Sources) {
			if ext[0] != '.' {
				t.Errorf("%q is no ending", ext)
			}
			if err := checkEnding("x"+formats.OutputEnding(ext, ""), ""); err != nil {
				t.Errorf("%s becomes what cannot be written: %v", ext, err)
			}
		}
	}
	for _, partial := range []string{"a.mkv.part", "a.mkv.tmp", "a.mkv.crdownload", "a.mkv.filepart", "a.txt", "mkv", "a.mkv/b"} {
		if isVideo(partial) {
			t.Errorf("%s counts as a video", partial)
		}
	}
}
