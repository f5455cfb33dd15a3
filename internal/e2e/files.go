package e2e

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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

// Run runs a program, which must succeed, and returns its standard output.
func Run(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	out, said, err := Output(name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, said)
	}
	return out
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
// ffmpeg's without the output, split by Fields. No test may change the file. A small one that
// depends on args alone comes from the cache: ffmpeg takes longer to start than a test to run.
func Clip(t testing.TB, name, args string) string {
	t.Helper()
	Needs(t, "ffmpeg")
	return Make(t, name, func(path string) error {
		kept := keptClip(name, args)
		if b, err := os.ReadFile(kept); err == nil {
			_ = os.Chtimes(kept, time.Time{}, time.Now())
			return os.WriteFile(path, b, 0o666)
		}
		list := append([]string{"-v", "error", "-nostdin", "-y", "-threads", "1"}, Fields(args)...)
		_, said, err := Output("ffmpeg", append(list, "file:"+path)...)
		if err != nil {
			return fmt.Errorf("ffmpeg %s: %w: %s", strings.Join(list, " "), err, said)
		}
		if b, err := os.ReadFile(path); err == nil && kept != "" && len(b) <= 4<<20 {
			keep(kept, b)
		}
		return nil
	})
}

// keptClip returns the clip's place in the cache, or "" if args name a file.
func keptClip(name, args string) string {
	files := strings.Count(args, "-i ") - strings.Count(args, "-f lavfi -i ")
	if files > 0 || strings.Contains(args, "@") || strings.Contains(args, "../") || strings.Contains(args, os.TempDir()) {
		return ""
	}
	key := sha256.Sum256([]byte(ffmpegVersion() + "\x00" + args + "\x00" + filepath.Ext(name)))
	return filepath.Join(clips(), hex.EncodeToString(key[:12]))
}

var ffmpegVersion = sync.OnceValue(func() string {
	out, _, _ := Output("ffmpeg", "-version")
	return string(out)
})

// clips is the folder of the cache, without clips that no run has used for a month.
var clips = sync.OnceValue(func() string {
	home, _ := os.UserCacheDir()
	dir := filepath.Join(cmp.Or(os.Getenv("VIDFILTER_CACHE"), filepath.Join(home, "vidfilter")), "clips")
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 30*24*time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return dir
})

// keep writes a file that other processes see whole or not at all. An error costs the next run
// time.
func keep(path string, b []byte) {
	_ = os.MkdirAll(filepath.Dir(path), 0o777)
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
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

// Contains fails the test if a text lacks one of the words.
func Contains(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

// Disk returns a folder that is a small disk, such as of "64m"; ok is false if this user may not
// mount one, and the folder is an ordinary one.
func Disk(t testing.TB, size string) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return dir, false
	}
	Must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir, true
}

// NeedsDisk is Disk for a test that is skipped without one.
func NeedsDisk(t testing.TB, size string) string {
	t.Helper()
	dir, ok := Disk(t, size)
	if !ok {
		t.Skip("this user may not mount a small disk")
	}
	return dir
}
