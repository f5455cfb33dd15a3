// Package e2e is the harness of the tests that run the built program from outside: it builds the
// program, makes clips with the ffmpeg program, runs processes and waits for conditions.
package e2e

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Set by Main.
var (
	Work    string // scratch folder of this run
	Program string // the binary under test
)

// Sanitized reports that the program is built with the address and undefined-behaviour sanitizers.
// They keep a map of all memory, which the sandbox does not allow.
var Sanitized = os.Getenv("VIDFILTER_SANITIZE") != ""

// Main builds the program with flags of the linker and runs the tests of a package; TestMain calls
// it. perCore tests run at a time on each core; use more than one for tests that mostly wait.
func Main(m *testing.M, perCore int, linker ...string) {
	flag.Parse()
	if !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.parallel") }) {
		_ = flag.Set("test.parallel", strconv.Itoa(perCore*runtime.NumCPU()))
	}
	code, err := run(m, linker)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M, linker []string) (code int, err error) {
	if Work, err = os.MkdirTemp("", "vidfilter-e2e-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(Work)
	if Program, err = Build(linker...); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// Build returns the path of the program, built as users have it, with further flags of the linker.
// Packages under test share it: the executable stays in the go command's cache. VIDFILTER_PROGRAM
// names one that was built before, for machines without Go.
func Build(linker ...string) (string, error) {
	if built := os.Getenv("VIDFILTER_PROGRAM"); built != "" {
		return filepath.Abs(built)
	}
	// Packages that are tested at the same time must not each link it.
	unlock, err := lock(filepath.Join(os.TempDir(), fmt.Sprintf("vidfilter-e2e-%d.lock", os.Getuid())))
	if err != nil {
		return "", err
	}
	defer unlock()
	args := []string{"run", "-exec", "echo"}
	if Sanitized {
		args = append(args, "-asan") // whose reports name functions
	} else {
		linker = append(linker, "-s", "-w")
	}
	args = append(args, "-ldflags", strings.Join(linker, " "), "vidfilter/cmd/vidfilter")
	for range 2 { // a fresh link runs from a temporary folder, and only then from the cache
		cmd := exec.Command("go", args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("build the program: %w\n%s", err, &stderr)
		}
		path := strings.TrimSpace(string(out))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("build the program: go run leaves no executable in the cache; it needs Go 1.24 or newer")
}

func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Start lets a test run beside others. It skips it where ffmpeg and ffprobe are missing, and under
// -short unless it is quick.
func Start(t *testing.T, quick bool) {
	t.Helper()
	Note(t)
	NeedsFFmpeg(t)
	if testing.Short() && !quick {
		t.Skip("-short")
	}
	t.Parallel()
}

// Complete is set by make test: a test then fails where it lacks a program of make setup-test.
var Complete = os.Getenv("VIDFILTER_TEST_COMPLETE") != ""

// Needs skips a test where one of these programs, which make setup-test installs, is missing.
func Needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			Lacks(t, name)
		}
	}
}

// Lacks skips a test for lack of a program.
func Lacks(t testing.TB, name string) {
	t.Helper()
	if Complete {
		t.Fatalf("needs %s: make setup-test", name)
	}
	t.Skipf("needs %s: make setup-test", name)
}

// NeedsFFmpeg skips a test where the ffmpeg and ffprobe programs are missing.
func NeedsFFmpeg(t testing.TB) { t.Helper(); Needs(t, "ffmpeg", "ffprobe") }

// Note makes the go command run a test again when the program's sources change: it caches results
// by the files a test has opened or looked at, and sees neither those a build reads nor those
// TestMain looks at.
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

// Look looks at a file or at all files below a folder, except those skipped; skip may be nil.
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

// Root returns the folder with go.mod, at or above the working directory.
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
