// Package faults tests the built program when one call that changes its files fails.
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

func TestMain(m *testing.M) {
	_ = os.Unsetenv("VIDFILTER_FAULTS") // the program would warn that it is no option
	e2e.Main(m, 4)
}

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

// position numbers one or two failing calls. 0 is no call.
type position [2]int

// after returns the positions with a second failure, from the run in which only the first call
// failed: each of the next few calls, and of the next few that remove a file.
func (e ended) after(at int) (all []position) {
	const few = 4
	removed := 0
	for i := at; i < len(e.calls) && removed < few; i++ {
		remove := strings.HasPrefix(e.calls[i], "unlink")
		if i < at+few || remove {
			all = append(all, position{at, i + 1})
		}
		if remove {
			removed++
		}
	}
	return all
}

// names returns the calls at a position that the run reached.
func (e ended) names(p position) (names []string) {
	for _, at := range p {
		if at > 0 && at <= len(e.calls) {
			names = append(names, e.calls[at-1])
		}
	}
	return names
}

// run runs the program with arguments that name files below folder. The calls at p fail.
func run(t *testing.T, folder string, p position, errno syscall.Errno, args ...string) (e ended) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	list := append([]string{folder, log, fmt.Sprintf("%d,%d", p[0], p[1]), strconv.Itoa(int(errno)), e2e.Program}, args...)
	process := e2e.Begin(t, exec.Command(launcher(t), list...))
	e.code = process.Wait()
	e.said = process.Said()
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

// every has all calls fail, and with each error. Without it they take turns.
var every = os.Getenv("VIDFILTER_FAULTS") != ""

// some returns the positions, from 1, of the calls to fail in turn: evenly spread, with the first
// and the last, and only a few of the many that a batch makes for its queue.
func some(calls []string, most int) (all []int) {
	var queue, others []int
	for i, call := range calls {
		if all = append(all, i+1); strings.Contains(call, " .vidfilter/queue/") {
			queue = append(queue, i+1)
		} else {
			others = append(others, i+1)
		}
	}
	if every {
		return all
	}
	jobs := func(at int) bool {
		return strings.HasPrefix(calls[at-1], "fsync") && strings.Contains(calls[at-1], "KV_vf-jobs/msgs")
	}
	for _, at := range slices.Backward(queue) { // the end of the last job, for which the batch waits
		if jobs(at) {
			return slices.Concat(spread(others, most), spread(queue, 2), []int{at})
		}
	}
	return spread(others, most)
}

func spread(all []int, most int) (few []int) {
	if len(all) <= most {
		return all
	}
	for i := range most {
		few = append(few, all[i*(len(all)-1)/(most-1)])
	}
	return few
}

// sample leaves one pair of calls, if it is wanted, unless all are tried.
func sample(all []position, wanted bool) []position {
	switch {
	case every || len(all) == 0:
		return all
	case wanted:
		return all[len(all)-1:]
	}
	return nil
}

// faults are the errors that calls fail with.
var faults = []syscall.Errno{syscall.EIO, syscall.ENOSPC}

// says has words of the message for each fault.
var says = map[syscall.Errno]string{syscall.EIO: "input/output error", syscall.ENOSPC: "disk full"}

// TestOneFile: a failing call is reported and leaves no file, or does no harm and the file is
// complete. An existing file stays unchanged until it is replaced.
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
			begin := func(p position, errno syscall.Errno) ended {
				folder := filepath.Join(t.TempDir(), "out")
				e2e.Must(t, os.Mkdir(folder, 0o777))
				for name, text := range old {
					e2e.Put(t, filepath.Join(folder, name), []byte(text))
				}
				return run(t, folder, p, errno, append(slices.Clone(args), filepath.Join(folder, "out.mp4"))...)
			}
			clean := begin(position{}, 0)
			if clean.code != 0 || len(clean.files) != 1 {
				t.Fatalf("without a fault: exit code %d, %d files: %s", clean.code, len(clean.files), clean.said)
			}
			try := func(p position, errno syscall.Errno) ended {
				e := begin(p, errno)
				if wrong := e.wrong(clean, old, p, says[errno]); wrong != "" {
					t.Errorf("calls %v (%q), %v: exit code %d, %s: %s", p, e.names(p), errno, e.code, wrong, e.said)
				}
				return e
			}
			all := some(clean.calls, 20)
			pairs := 0
			for i, at := range all {
				for k, errno := range faults {
					if !every && i%2 != k {
						continue
					}
					first := try(position{at}, errno)
					for _, p := range sample(first.after(at), i%4 == 1) {
						try(p, errno)
						pairs++
					}
				}
			}
			t.Logf("%d of %d calls fail, and %d pairs", len(all), len(clean.calls), pairs)
		})
	}
}

// wrong describes a wrong result of a job whose folder had old files. A file that could not be
// removed may stay if the message names it.
func (e ended) wrong(clean ended, old map[string]string, p position, words string) string {
	for _, name := range e.names(p) {
		if call, left, _ := strings.Cut(name, " "); strings.HasPrefix(call, "unlink") && strings.Contains(e.said, left) {
			delete(e.files, left)
		}
	}
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

// sameFile compares two files, except for Matroska's random identifiers.
func sameFile(a, b string) bool {
	return a == b || strings.HasPrefix(a, "\x1a\x45\xdf\xa3") && len(a) == len(b)
}

// TestBatch: after any fault a second run finishes the work. The first run leaves only complete
// files, and all of them if it succeeds.
func TestBatch(t *testing.T) {
	e2e.Start(t, true)
	in := filepath.Join(t.TempDir(), "in")
	for _, name := range []string{"a.mp4", "b.mp4"} {
		e2e.Put(t, filepath.Join(in, name), e2e.Read(t, clip(t)))
	}
	begin := func(t *testing.T, out string, p position, errno syscall.Errno) ended {
		e2e.Must(t, os.MkdirAll(out, 0o777))
		return run(t, out, p, errno, "batch", in, "-o", out, "-r", "1", "--threads", "1", "--segment", "1s", "--jobs", "1")
	}
	clean := begin(t, filepath.Join(t.TempDir(), "out"), position{}, 0)
	if clean.code != 0 || len(clean.files) != 2 {
		t.Fatalf("without a fault: exit code %d, %d files: %s", clean.code, len(clean.files), clean.said)
	}
	try := func(t *testing.T, p position, errno syscall.Errno) ended {
		out, began := filepath.Join(t.TempDir(), "out"), time.Now()
		first := begin(t, out, p, errno)
		t.Logf("%q, %v: exit code %d after %.1f s", first.names(p), errno, first.code, time.Since(began).Seconds())
		for name, data := range first.files {
			if data != clean.files[name] {
				t.Errorf("%s is not complete: %s", name, first.said)
			}
		}
		if first.code == 0 && !maps.Equal(first.files, clean.files) {
			t.Errorf("exit code 0 with %d files: %s", len(first.files), first.said)
		}
		if first.code != 0 && !strings.Contains(first.said, "vidfilter: ") {
			t.Errorf("it does not say why: %s", first.said)
		}
		second := begin(t, out, position{}, 0)
		if second.code != 0 || !maps.Equal(second.files, clean.files) {
			t.Errorf("the second run ends with %d: %s; the first with %d: %s", second.code, second.said, first.code, first.said)
		}
		if left, err := os.ReadDir(filepath.Join(out, ".vidfilter", "work")); err == nil && len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		return first
	}
	all := some(clean.calls, 6)
	t.Logf("%d of %d calls fail", len(all), len(clean.calls))
	for i, at := range all {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel() // a batch that tries again waits first
			first := try(t, position{at}, faults[i%2])
			if i%10 != 1 { // of the batches in which two fail, a tenth
				return
			}
			for _, p := range sample(first.after(at), true) {
				t.Run(fmt.Sprint(p[1]), func(t *testing.T) { try(t, p, faults[i%2]) })
			}
		})
	}
}
