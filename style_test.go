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

	"vidfilter/internal/e2e"
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

// oddWords are patterns that read as translated, with the most that 1,000 words of pages and of
// comments may have: the worst rate of well-written projects.
var oddWords = []struct {
	name          string
	regex         *regexp.Regexp
	most, comment float64
}{
	{"none, nobody, nothing", regexp.MustCompile(`(?i)\b(none|nobody|nothing)\b`), 0.6, 0.6},
	{"that of, those of", regexp.MustCompile(`(?i)\b(that|those) of\b`), 0, 0.3},
	{"says, tells", regexp.MustCompile(`(?i)\b(say|says|said|tell|tells|told)\b`), 0.6, 0.6},
	{"what, who", regexp.MustCompile(`(?i)\b(what|who|whatever|whoever)\b`), 0.7, 0.7},
	{"is named", regexp.MustCompile(`(?i)\b(is|are) named\b`), 0.6, 0.6},
	{"so many, as far as, but for", regexp.MustCompile(`(?i)\b(so many|as far as|but for|likewise|of which)\b`), 0, 0.3},
	{", too", regexp.MustCompile(`(?i), too\b`), 0, 0.3},
	{"a semicolon between sentences", regexp.MustCompile(`; (it|its|they|this|these|the|then|there|so|both|others?) `), 0.7, 0.7},
}

// notProse matches the code, link targets and generated tables of a Markdown file.
var notProse = regexp.MustCompile("(?ms)<!-- The table is written by.*?<!-- end of the table -->|^```.*?^```|^    [^\n]*$|`[^`]*`|\\]\\([^)]*\\)")

var aWord = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)

// holdWords reports patterns that 1,000 words of text have more often than most allows. A text of
// less than 2,000 words counts as one of 2,000, so that a single word is no failure.
func holdWords(t *testing.T, of, text string, most func(page, comment float64) float64) {
	t.Helper()
	prose := strings.Join(strings.Fields(text), " ")
	words := max(2000, len(aWord.FindAllStringIndex(prose, -1)))
	for _, odd := range oddWords {
		found := odd.regex.FindAllStringIndex(prose, -1)
		limit := most(odd.most, odd.comment)
		if rate := float64(len(found)) * 1000 / float64(words); rate > limit {
			at := found[len(found)-1]
			t.Errorf("%s: %q is there %d times, %.2f in 1,000 words; at most %.2f: ...%s...",
				of, odd.name, len(found), rate, limit, prose[max(0, at[0]-60):min(len(prose), at[1]+40)])
		}
	}
}

// pages returns the names of the Markdown files for people, from the top of the tree.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/notes/*.md", "deploy/*.md"} {
		more, err := filepath.Glob(pattern)
		if all = append(all, more...); err != nil || len(more) == 0 {
			t.Errorf("%d files are %s, %v", len(more), pattern, err)
		}
	}
	return all
}

// TestPlainWords holds each page to the rates of oddWords.
func TestPlainWords(t *testing.T) {
	for _, page := range pages(t) {
		prose := notProse.ReplaceAllString(string(e2e.Read(t, page)), " ")
		holdWords(t, page, prose, func(page, _ float64) float64 { return page })
	}
}

// TestTableWidth holds rows of tables in pages to 120 columns.
func TestTableWidth(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		for n, line := range strings.Split(string(e2e.Read(t, page)), "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			seen++
			if wide := utf8.RuneCountInString(line); wide > 120 {
				t.Errorf("%s:%d: a row of %d columns", page, n+1, wide)
			}
		}
	}
	if seen == 0 {
		t.Error("no page has a table")
	}
}

// languages are the kinds of source files by ending, tests of Go apart.
var languages = map[string]string{
	".go": "Go", "_test.go": "tests in Go", ".c": "C", ".h": "C", ".cu": "CUDA", ".cc": "C++", ".js": "JavaScript", ".sh": "shell",
}

var shellComment = regexp.MustCompile(`(?m)^\s*#[^!].*$`)

// commentsOf returns the comments of a source file, without directives of the compiler.
func commentsOf(language, text string) string {
	if language == "shell" {
		return strings.Join(shellComment.FindAllString(text, -1), "\n")
	}
	var all []string
	for text != "" {
		n := tokenLength(text)
		if strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") {
			if !strings.HasPrefix(text, "//go:") {
				all = append(all, strings.Trim(text[:n], "/*"))
			}
		}
		text = text[n:]
	}
	return strings.Join(all, "\n")
}

// tokenLength returns the length of the comment, string or other text at the beginning of a source.
func tokenLength(text string) int {
	end, from := "", 1
	switch {
	case strings.HasPrefix(text, "//"):
		end = "\n"
	case strings.HasPrefix(text, "/*"):
		end, from = "*/", 2
	case text[0] == '`':
		end = "`"
	case text[0] == '"', text[0] == '\'':
		for i := 1; i < len(text) && text[i] != '\n'; i++ {
			if text[i] == text[0] {
				return i + 1
			} else if text[i] == '\\' {
				i++
			}
		}
		return 1
	default:
		if n := strings.IndexAny(text[1:], "/`\"'"); n >= 0 {
			return 1 + n
		}
		return len(text)
	}
	if n := strings.Index(text[from:], end); n >= 0 {
		return from + n + len(end)
	}
	return len(text)
}

// TestPlainComments holds the comments of each language to the rates of oddWords.
func TestPlainComments(t *testing.T) {
	comments := map[string]*strings.Builder{}
	e2e.Must(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipFolder(name)
		}
		language := languages[filepath.Ext(name)]
		if strings.HasSuffix(name, "_test.go") {
			language = languages["_test.go"]
		}
		if language == "" {
			return nil
		}
		if comments[language] == nil {
			comments[language] = &strings.Builder{}
		}
		comments[language].WriteString(commentsOf(language, string(e2e.Read(t, name))) + "\n")
		return nil
	}))
	for _, language := range languages {
		if comments[language] == nil {
			t.Errorf("no comments in %s", language)
			continue
		}
		holdWords(t, "comments in "+language, comments[language].String(), func(_, comment float64) float64 { return comment })
	}
}
