// Package libcuda_test checks the stand-in for the CUDA driver against the packages that link it,
// and against NVIDIA's own header.
package libcuda_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

func output(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return string(out)
}

// symbols returns the driver functions that the objects in an archive define, and those that they
// need.
func symbols(t *testing.T, archive string) (defined, needed map[string]bool) {
	t.Helper()
	out, err := exec.Command("nm", archive).Output() // fails on the Go object, but goes on
	if len(out) == 0 {
		t.Fatalf("nm %s: %v", archive, err)
	}
	defined, needed = map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:[0-9a-f]+)? +([TU]) (cu[A-Z]\w*)$`).FindAllStringSubmatch(string(out), -1) {
		map[string]map[string]bool{"T": defined, "U": needed}[m[1]][m[2]] = true
	}
	maps.DeleteFunc(needed, func(name string, _ bool) bool { return defined[name] })
	return defined, needed
}

func library(t *testing.T, env ...string) string {
	return strings.TrimSpace(output(t, env, "../../scripts/libcuda.sh"))
}

// TestSymbols: libcuda.a defines exactly the symbols that cu, gpu and lab/papers need.
func TestSymbols(t *testing.T) {
	ours, _ := symbols(t, library(t)+"/libcuda.a")
	all := map[string]bool{}
	for _, pkg := range []string{"gorgonia.org/cu", "vidfilter/gpu", "vidfilter/lab/papers"} {
		_, needed := symbols(t, strings.TrimSpace(output(t, nil, "go", "list", "-export", "-f", "{{.Export}}", pkg)))
		for name := range needed {
			if !ours[name] {
				t.Errorf("%s needs %s, which libcuda.a lacks", pkg, name)
			}
		}
		maps.Copy(all, needed)
	}
	for name := range ours {
		if !all[name] {
			t.Errorf("libcuda.a has %s, which nothing needs", name)
		}
	}
	if len(all) < 150 {
		t.Errorf("only %d symbols are needed: does nm understand the archives?", len(all))
	}
}

// different explains, by name, the lines in which the header of CUDA 13 may differ from ours, of
// CUDA 12. cu is compiled with the older forms, and drivers keep those under the names used here.
var different = map[string]string{
	"cuCtxCreate":            "takes parameters for a new kind of context",
	"cuDeviceGetUuid":        "a new name; the older form answers alike but for slices of a GPU",
	"cuEventElapsedTime":     "a new name; the same prototype",
	"cuGraphAddDependencies": "takes data of edges",
	"cuGraphGetEdges":        "gives data of edges",
	"cuMemAdvise":            "a place in place of a device",
	"cuMemPrefetchAsync":     "a place in place of a device",
}

// later matches declarations that were added after check.sh was run with CUDA 13's header: texture
// objects. They are compared with cu's preprocessed copy of CUDA 11's header, from which its
// sources are generated.
const later = "[tT]exObject|^CUDA_(RESOURCE|TEXTURE)|^CU_RES|^CUresource"

// TestHeader compares the output of check.sh for our cuda.h with its output for NVIDIA's.
func TestHeader(t *testing.T) {
	files, _ := filepath.Glob("testdata/nvidia-cuda-*.txt")
	if len(files) == 0 {
		t.Skip("check.sh was not run yet on a machine with NVIDIA's header")
	}
	ours := lines(output(t, nil, "./check.sh", "include"))
	cu := strings.TrimSpace(output(t, nil, "go", "list", "-m", "-f", "{{.Dir}}", "gorgonia.org/cu"))
	added := lines(output(t, nil, "./check.sh", cu+"/cmd/genlib", later))
	for _, file := range files {
		b := e2e.Read(t, file)
		theirs := lines(string(b))
		for what, line := range added {
			if theirs[what] == "" {
				theirs[what] = line
			}
		}
		for what, line := range ours {
			if theirs[what] != line && different[strings.TrimPrefix(what, "function ")] == "" {
				t.Errorf("%s: ours is %q, theirs %q", file, line, theirs[what])
			}
		}
	}
}

// lines returns the lines of check.sh by their first two words.
func lines(s string) map[string]string {
	all := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		words := strings.Fields(line)
		all[strings.Join(words[:2], " ")] = line
	}
	return all
}

// machine is a way to build and run C programs.
type machine struct{ cc, run string }

// machines returns this machine, and arm64 if a cross compiler and an emulator are installed.
func machines() map[string]machine {
	all := map[string]machine{runtime.GOARCH: {cc: "gcc"}}
	const cross, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64"
	_, noCross := exec.LookPath(cross)
	_, noEmulator := exec.LookPath(emulator)
	if runtime.GOARCH == "amd64" && (e2e.Complete || noCross == nil && noEmulator == nil) {
		all["arm64"] = machine{cross, emulator + " -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="}
	}
	return all
}

// TestJumps: concurrent first calls from many threads reach the driver with all their arguments.
func TestJumps(t *testing.T) {
	for name, m := range machines() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lib := library(t, "CC="+m.cc)
			output(t, nil, m.cc, "-I"+lib+"/include", "-o", dir+"/jump", "testdata/jump.c", "-L"+lib, "-lcuda", "-ldl", "-pthread")
			run := func(env ...string) string { return m.start(t, dir, env) }

			if got := run(); !strings.HasPrefix(got, answers(3, 3, 3, 3)+"state 3 libcuda.so.1: ") && !hasDriver() {
				t.Errorf("with no driver:\n%s", got)
			}
			output(t, nil, m.cc, "-shared", "-fPIC", "-I"+lib+"/include", "-o", dir+"/libcuda.so.1", "testdata/fake.c")
			for range 20 {
				if got, want := run(), answers(0, 0, 0, 500)+"state 0 loaded\n"; got != want {
					t.Fatalf("with a driver:\n%swant:\n%s", got, want)
				}
			}
			if got, want := run("FAKE_INIT=100"), answers(0, 0, 0, 500)+"state 100 loaded\n"; got != want {
				t.Errorf("with a driver that finds no device:\n%swant:\n%s", got, want)
			}
			e2e.Must(t, os.WriteFile(dir+"/libcuda.so.1", []byte("no library"), 0o600))
			if got := run(); !strings.HasPrefix(got, answers(3, 3, 3, 3)+"state 3 ") || !strings.Contains(got, "libcuda.so.1") {
				t.Errorf("with a broken driver:\n%s", got)
			}
		})
	}
}

// start runs the program in dir with the driver in dir.
func (m machine) start(t *testing.T, dir string, env []string) string {
	if m.run == "" {
		return output(t, append(env, "LD_LIBRARY_PATH="+dir), dir+"/jump")
	}
	args := strings.Fields(m.run + dir)
	return output(t, env, args[0], append(args[1:], dir+"/jump")...)
}

// answers returns the output of jump.c if all calls of a kind return the same result.
func answers(launch, floats, alloc, missing int) string {
	s := "init 0\n"
	for _, a := range []struct {
		what string
		code int
	}{{"launch", launch}, {"floats", floats}, {"alloc", alloc}} {
		s += a.what + strings.Repeat(fmt.Sprintf(" %d", a.code), 8) + "\n"
	}
	return s + fmt.Sprintf("missing %d\n", missing)
}

// hasDriver reports whether this machine has a driver that LD_LIBRARY_PATH cannot hide.
func hasDriver() bool {
	out, _ := exec.Command("/sbin/ldconfig", "-p").Output()
	return slices.ContainsFunc(strings.Split(string(out), "\n"), func(l string) bool { return strings.Contains(l, "libcuda.so.1 ") })
}
