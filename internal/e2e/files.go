package e2e

import (
	"encoding/json"
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
	Needs(t, "ffmpeg")
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

// JSONLines checks the output of --progress json: every line is an object, and only the last one a
// done, which it returns.
func JSONLines(t testing.TB, text string, exitCode int) map[string]any {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var last map[string]any
	for i, line := range all {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if (last["type"] == "done") != (i == len(all)-1) {
			t.Errorf("line %d of %d is %s", i+1, len(all), line)
		}
	}
	if last["exit_code"] != float64(exitCode) {
		t.Errorf("exit code %v, want %d", last["exit_code"], exitCode)
	}
	return last
}
