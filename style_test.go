package vidfilter_test

import (
	"io/fs"
	"os"
	"path/filepath"
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
