package vidfilter_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCommentWidth holds lines of comments to 100 columns, with tabs of 4.
func TestCommentWidth(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipFolder(name)
		case !slices.Contains([]string{".go", ".c", ".h", ".cu", ".js"}, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(name)
		for n, line := range strings.Split(strings.ReplaceAll(string(text), "\t", "    "), "\n") {
			if !strings.HasPrefix(strings.TrimLeft(line, " "), "//") {
				continue
			}
			seen++
			if wide := utf8.RuneCountInString(line); wide > 100 {
				t.Errorf("%s:%d: a comment of %d columns", name, n+1, wide)
			}
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Errorf("%d lines of comments seen, %v", seen, err)
	}
}

// oddWords are patterns that read as translated, with the most that 1,000 words may have: the
// worst rate of well-written projects.
var oddWords = []struct {
	name  string
	regex *regexp.Regexp
	most  float64
}{
	{"none, nobody, nothing", regexp.MustCompile(`(?i)\b(none|nobody|nothing)\b`), 0.6},
	{"that of, those of", regexp.MustCompile(`(?i)\b(that|those) of\b`), 0},
	{"says, tells", regexp.MustCompile(`(?i)\b(say|says|said|tell|tells|told)\b`), 0.6},
	{"what, who", regexp.MustCompile(`(?i)\b(what|who|whatever|whoever)\b`), 0.7},
	{"is named", regexp.MustCompile(`(?i)\b(is|are) named\b`), 0.6},
	{"so many, as far as, but for", regexp.MustCompile(`(?i)\b(so many|as far as|but for|likewise|of which)\b`), 0},
	{", too", regexp.MustCompile(`(?i), too\b`), 0},
	{"a semicolon between sentences", regexp.MustCompile(`; (it|its|they|this|these|the|then|there|so|both|others?) `), 0.7},
}

// notProse is what a Markdown file has beside prose: code, targets of links, generated tables.
var notProse = regexp.MustCompile("(?ms)<!-- The table is written by.*?<!-- end of the table -->|^```.*?^```|^    [^\n]*$|`[^`]*`|\\]\\([^)]*\\)")

var aWord = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)

// TestPlainWords holds each page to the rates of oddWords. A page of less than 2,000 words counts
// as one of 2,000, so that a single word is no failure.
func TestPlainWords(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	for _, pattern := range []string{"docs/*.md", "docs/notes/*.md", "deploy/*.md"} {
		more, err := filepath.Glob(pattern)
		if pages = append(pages, more...); err != nil || len(more) == 0 {
			t.Errorf("%d files are %s, %v", len(more), pattern, err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := strings.Join(strings.Fields(notProse.ReplaceAllString(string(text), " ")), " ")
		words := max(2000, len(aWord.FindAllString(prose, -1)))
		for _, odd := range oddWords {
			found := odd.regex.FindAllStringIndex(prose, -1)
			if rate := float64(len(found)) * 1000 / float64(words); rate > odd.most {
				at := found[0]
				t.Errorf("%s: %q is there %d times, %.1f in 1,000 words; at most %.1f: ...%s...",
					page, odd.name, len(found), rate, odd.most, prose[max(0, at[0]-40):min(len(prose), at[1]+40)])
			}
		}
	}
}
