package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Must fails the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	Must(t, err)
	return b
}

// Put writes a file, and makes its folder.
func Put(t testing.TB, name string, data []byte) {
	t.Helper()
	Must(t, os.MkdirAll(filepath.Dir(name), 0o777))
	Must(t, os.WriteFile(name, data, 0o666))
}

// Exists reports whether a file is there.
func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

var made sync.Map // name -> func() error

// Make writes a file of that name in Work, once in a run, and returns its path.
func Make(t testing.TB, name string, write func(path string) error) string {
	t.Helper()
	path := filepath.Join(Work, name)
	once, _ := made.LoadOrStore(name, sync.OnceValue(func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return write(path)
	}))
	Must(t, once.(func() error)())
	return path
}

// Clip makes a file with the ffmpeg program, once in a run, and returns its path. args are
// ffmpeg's without the output, split by Fields. No test may change the file.
func Clip(t testing.TB, name, args string) string {
	t.Helper()
	return Make(t, name, func(path string) error {
		list := append([]string{"-v", "error", "-nostdin", "-y", "-threads", "1"}, Fields(args)...)
		out, err := exec.Command("ffmpeg", append(list, "file:"+path)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ffmpeg %s: %w: %s", strings.Join(list, " "), err, out)
		}
		return nil
	})
}

// Fields splits at spaces. 'Quotes' keep words together, and @name is the path of a clip.
func Fields(args string) []string {
	var list []string
	var word strings.Builder
	quoted, used := false, false
	flush := func() {
		if used {
			w := word.String()
			if strings.HasPrefix(w, "@") {
				w = filepath.Join(Work, w[1:])
			}
			list = append(list, w)
		}
		word.Reset()
		used = false
	}
	for _, r := range args {
		switch {
		case r == '\'':
			quoted, used = !quoted, true
		case (r == ' ' || r == '\n' || r == '\t') && !quoted:
			flush()
		default:
			used = true
			word.WriteRune(r)
		}
	}
	flush()
	return list
}
