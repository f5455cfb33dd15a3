// Package faults tests what becomes of the built program when one call that changes its files
// fails.
package faults

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, 1) }

// launcher builds the program that makes calls fail.
func launcher(t *testing.T) string {
	t.Helper()
	source, err := filepath.Abs("testdata/faults.c")
	e2e.Must(t, err)
	return e2e.Make(t, "faults", func(path string) error {
		if out, err := exec.Command("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, source).CombinedOutput(); err != nil {
			return fmt.Errorf("cc: %w: %s", err, out)
		}
		return nil
	})
}

func clip(t *testing.T) string {
	t.Helper()
	return e2e.Clip(t, "clip.mp4", "-f lavfi -i testsrc2=s=96x64:r=25 -f lavfi -i sine=300 -t 2 -c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p -c:a aac")
}

// ended is how a run with a fault came out.
type ended struct {
	code  int
	said  string
	files map[string]string // below the folder, by name; without a batch's own
	calls []string          // "write NAME"
}

// run runs the program with arguments that name files below folder; the call at position fails.
func run(t *testing.T, folder string, position int, errno syscall.Errno, args ...string) (e ended) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	list := append([]string{folder, log, strconv.Itoa(position), strconv.Itoa(int(errno)), e2e.Program}, args...)
	p := e2e.Begin(t, exec.Command(launcher(t), list...))
	e.code = p.Wait()
	e.said = p.Said()
	e.calls = strings.Split(strings.TrimSpace(string(e2e.Read(t, log))), "\n")
	e.files = files(t, folder)
	if e.code == 99 {
		t.Fatalf("the kernel or its settings do not let calls be watched: %s", e.said)
	}
	return e
}

func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	e2e.Must(t, filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".vidfilter" {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			rel, _ := filepath.Rel(folder, name)
			all[rel] = string(e2e.Read(t, name))
		}
		return nil
	}))
	return all
}

// positions returns those of the calls that fail in turn, from 1: with VIDFILTER_FAULTS=1 all, else
// at least so many, evenly spread, with the first and the last of each kind.
func positions(calls []string, some int) (all []int) {
	step := max(1, len(calls)/some)
	if os.Getenv("VIDFILTER_FAULTS") != "" {
		step = 1
	}
	kind := func(call string) string { kind, _, _ := strings.Cut(call, " "); return kind }
	for i, call := range calls {
		like := func(other string) bool { return kind(other) == kind(call) }
		if i%step == 0 || slices.IndexFunc(calls, like) == i || !slices.ContainsFunc(calls[i+1:], like) {
			all = append(all, i+1)
		}
	}
	return all
}

// faults are the errors that calls fail with, and words of the message that tells of them.
var faults = map[syscall.Errno]string{
	syscall.EIO:    "input/output error",
	syscall.ENOSPC: "disk full",
}

// TestOneFile: where a call fails, the program says so and leaves nothing; where that does no harm,
// the file is complete. A file that exists stays as it was until it is replaced.
func TestOneFile(t *testing.T) {
	e2e.Start(t, true)
	in, part := clip(t), "--part=18432:25089:14:16896:25089:17"
	job := []string{"-i", in, "-r", "1", "--progress", "none", "--threads", "1"}
	for name, args := range map[string][]string{
		"job":     append(job, "-o"),
		"replace": append(job, "-y", "-o"),
		"mkv":     append(job, "--format", "mkv", "-o"),
		"part":    append(job, part, "-o"),
		"cut":     {"cut", "-i", in, part, "-o"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := map[string]string{}
			if name == "replace" {
				old["out.mp4"] = "old"
			}
			begin := func(position int, errno syscall.Errno) ended {
				folder := filepath.Join(t.TempDir(), "out")
				e2e.Must(t, os.Mkdir(folder, 0o777))
				for name, text := range old {
					e2e.Put(t, filepath.Join(folder, name), []byte(text))
				}
				return run(t, folder, position, errno, append(slices.Clone(args), filepath.Join(folder, "out.mp4"))...)
			}
			clean := begin(0, 0)
			if clean.code != 0 || len(clean.files) != 1 {
				t.Fatalf("without a fault: exit code %d, %d files: %s", clean.code, len(clean.files), clean.said)
			}
			all := positions(clean.calls, 10)
			t.Logf("%d of %d calls fail", len(all), len(clean.calls))
			for _, at := range all {
				for errno, words := range faults {
					e := begin(at, errno)
					if wrong := e.wrong(clean, old, words); wrong != "" {
						t.Errorf("call %d (%s), %v: exit code %d, %s: %s", at, clean.calls[at-1], errno, e.code, wrong, e.said)
					}
				}
			}
		})
	}
}

// wrong says what is wrong with the end of a job, whose folder had old files.
func (e ended) wrong(clean ended, old map[string]string, words string) string {
	done := maps.EqualFunc(e.files, clean.files, sameFile)
	switch {
	case e.code == 0 && done:
		return ""
	case e.code == 0:
		return "and the output is not complete"
	case !strings.Contains(e.said, words):
		return "and the error does not say why"
	case done && strings.Contains(e.said, "the file is complete"): // its folder could not be synced
		return ""
	case !maps.Equal(e.files, old):
		return fmt.Sprintf("and there are %v", slices.Collect(maps.Keys(e.files)))
	}
	return ""
}

// sameFile compares two files but for the random identifiers of Matroska.
func sameFile(a, b string) bool {
	return a == b || strings.HasPrefix(a, "\x1a\x45\xdf\xa3") && len(a) == len(b)
}

// TestBatch: after any fault a second run finishes the work. Before, no file is there that is not
// complete, and none is missing that the first run calls done.
func TestBatch(t *testing.T) {
	e2e.Start(t, true)
	in := filepath.Join(t.TempDir(), "in")
	for _, name := range []string{"a.mp4", "b.mp4"} {
		e2e.Put(t, filepath.Join(in, name), e2e.Read(t, clip(t)))
	}
	begin := func(out string, position int, errno syscall.Errno) ended {
		e2e.Must(t, os.MkdirAll(out, 0o777))
		return run(t, out, position, errno, "batch", in, "-o", out, "-r", "1", "--threads", "1", "--segment", "1s", "--jobs", "1")
	}
	clean := begin(filepath.Join(t.TempDir(), "out"), 0, 0)
	if clean.code != 0 || len(clean.files) != 2 {
		t.Fatalf("without a fault: exit code %d, %d files: %s", clean.code, len(clean.files), clean.said)
	}
	all := positions(clean.calls, 8)
	t.Logf("%d of %d calls fail", len(all), len(clean.calls))
	for i, at := range all {
		errno := []syscall.Errno{syscall.EIO, syscall.ENOSPC}[i%2]
		out := filepath.Join(t.TempDir(), "out")
		began := time.Now()
		first := begin(out, at, errno)
		call := "none"
		if at <= len(first.calls) {
			call = first.calls[at-1]
		}
		t.Logf("call %d (%s), %v: exit code %d after %.1f s", at, call, errno, first.code, time.Since(began).Seconds())
		for name, data := range first.files {
			if data != clean.files[name] {
				t.Errorf("call %d (%s), %v: %s is not complete: %s", at, call, errno, name, first.said)
			}
		}
		if first.code == 0 && !maps.Equal(first.files, clean.files) {
			t.Errorf("call %d (%s), %v: exit code 0 with %d files: %s", at, call, errno, len(first.files), first.said)
		}
		second := begin(out, 0, 0)
		if second.code != 0 || !maps.Equal(second.files, clean.files) {
			t.Errorf("call %d (%s), %v: exit code %d: %s; the second run ends with %d: %s",
				at, call, errno, first.code, first.said, second.code, second.said)
		}
		if left, err := os.ReadDir(filepath.Join(out, ".vidfilter", "work")); err == nil && len(left) > 0 {
			t.Errorf("call %d (%s), %v: left: %v", at, call, errno, left)
		}
	}
}
