// Package built builds the program for the tests that run it from outside.
package built

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Program builds the program as a file of the given name in dir, with flags of the go command, and returns its path.
func Program(dir, name string, flags ...string) (string, error) {
	path := filepath.Join(dir, name)
	args := slices.Concat([]string{"build", "-o", path}, flags, []string{"vidfilter/cmd/vidfilter"})
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

// Note has a test look at every file that the program is built from. The go command keeps the result of a test until a file changes that it
// has looked at, and does not see what a build reads; what TestMain looks at before it runs the tests does not count either.
func Note(t testing.TB) {
	t.Helper()
	if err := noteOnce(); err != nil {
		t.Fatal(err)
	}
}

var noteOnce = sync.OnceValue(noteSources)

func noteSources() error {
	root, err := Root()
	if err != nil {
		return err
	}
	return Look(root, func(path string, d fs.DirEntry) bool {
		name := d.Name()
		if d.IsDir() {
			return path != root && (name[0] == '.' || name == "testdata" || name == "bin" || name == "demo")
		}
		return strings.HasSuffix(name, "_test.go")
	})
}

// Look looks at a file, or at all those below a folder, but for the files and folders that are skipped; a nil skip skips none.
func Look(root string, skip func(path string, d fs.DirEntry) bool) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skip != nil && skip(path, d):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
}

// Root returns the folder with go.mod, at or above the test's own.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod at or above the working directory")
		}
		dir = up
	}
}
