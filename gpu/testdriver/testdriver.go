// Package testdriver gives tests a CUDA driver that needs no GPU: a libcuda.so.1 that runs the project's kernels, compiled
// for the CPU from the same sources. A program finds it by LD_LIBRARY_PATH, so what is tested is the very binary that
// users run. Its sources are in src.
//
// It does work as late as a real driver may: streams are put off until something waits for them, and until then the
// places of their results hold poison. It counts handles and memory, and checks every address that a kernel uses.
//
// The environment variable VIDFILTER_TESTDRIVER sets it up, as "alloc=3+,leaks=1":
//
//	devices=2        how many there are
//	compute=90       their compute capability; "61/90" where they differ
//	memory=2G        of each
//	version=12040    of the driver
//	init=100         what cuInit answers
//	busy=1           devices cannot be opened
//	alloc=3          the third allocation of device memory fails; "3+": and all after it
//	hostalloc=1      of pinned memory
//	launch=5         the fifth kernel fails when it runs, and its context with it
//	lost=7           the device is lost at the seventh copy, launch, record or wait of streams; with ecc=7 by its memory
//	hang=2           the second kernel never ends
//	slow=20ms        each kernel takes as long
//	order=7          threads, warps and streams take turns in another order: any number but 0 gives one
//	leaks=1          what is left when the last reference to a device goes is told on stderr
//	log=FILE         a line for each call is appended: NAME RESULT DETAILS, and "run KERNEL" when one runs
package testdriver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"vidfilter/internal/built"
)

// Variable is the environment variable that sets the driver up.
const Variable = "VIDFILTER_TESTDRIVER"

// Folder builds the driver, unless that was done before, and returns the folder for LD_LIBRARY_PATH.
var Folder = sync.OnceValues(func() (string, error) { return Build("") })

// Build is Folder with the kernels of another list than the project's.
func Build(list string) (string, error) {
	top, err := built.Root()
	if err != nil {
		return "", err
	}
	if err := look(top); err != nil {
		return "", fmt.Errorf("build the test driver: %w", err)
	}
	cmd := exec.Command(filepath.Join(top, "scripts", "testdriver.sh"))
	if list != "" {
		cmd.Args = append(cmd.Args, list)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build the test driver: %w\n%s", err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// sources are what the driver is built from, below the folder with go.mod.
var sources = []string{"scripts/testdriver.sh", "gpu/testdriver/src", "gpu/libcuda/include", "gpu/libcuda/src", "kernels/common.h", "kernels/cuda"}

// look looks at the sources, without which the go command would keep a test's result when one of them changes.
func look(top string) error {
	for _, s := range sources {
		if err := built.Look(filepath.Join(top, s), nil); err != nil {
			return err
		}
	}
	return nil
}

// child names, in a process that Rerun has begun, the test that is to run there.
const child = "VIDFILTER_TEST_CHILD"

// InChild says whether this process is the one that Rerun began for the test of that name.
func InChild(name string) bool { return os.Getenv(child) == name }

// Rerun runs a test of this program again, in a process of its own with the driver in folder set up with options: a process has one
// driver for good. It fails where the test fails or does not run, or where the driver complains. args go to the test program.
func Rerun(name, folder, options string, args ...string) error {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	args = append([]string{"-test.run=" + strings.Join(parts, "/"), "-test.timeout=5m", "-test.v"}, args...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(Environ(folder, options), child+"="+name, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		return fmt.Errorf("with driver %q: %w\n%s", options, err, out)
	case bytes.Contains(out, []byte("test driver:")):
		return fmt.Errorf("with driver %q, which complains:\n%s", options, out)
	case !bytes.Contains(out, []byte("--- PASS: "+name)):
		return fmt.Errorf("the test did not run:\n%s", out)
	}
	return nil
}

// Environ returns the environment of a program that is to find the driver in folder, set up with options.
func Environ(folder, options string) []string {
	return append(os.Environ(), "LD_LIBRARY_PATH="+folder, Variable+"="+options)
}
