// Package testdriver provides a CUDA driver for tests without a GPU: a libcuda.so.1 that runs the
// project's kernels, compiled for the CPU from the same sources. Programs find it through
// LD_LIBRARY_PATH, so tests run the same binary as users. Its sources are in src.
//
// It works as late as a real driver may: streams run only when something waits for them, and until
// then their results are poison. With ahead, some work runs earlier. It tracks handles and memory,
// and checks every address that a kernel uses.
//
// The environment variable VIDFILTER_TESTDRIVER configures it, as in "alloc=3+,leaks=1":
//
//	devices=2        number of devices
//	compute=90       their compute capability; "61/90" if they differ
//	memory=2G        per device
//	version=12040    of the driver
//	init=100         result of cuInit
//	busy=1           devices cannot be opened
//	unregistered=1   the program's memory cannot be pinned
//	alloc=3          the third allocation of device memory fails; "3+": and all later ones
//	hostalloc=1      the same for pinned memory
//	launch=5         the fifth kernel fails when it runs, and breaks its context
//	lost=7           the device is lost at the seventh copy, launch, event record or stream wait
//	ecc=7            the same, by an uncorrectable memory error
//	hang=2           the second kernel never ends
//	call=9           the ninth call fails and does nothing; cuInit and the queries of errors and
//	                 of the version do not count
//	slow=20ms        minimum duration of each kernel
//	order=7          seed for the order of threads, warps and streams; 0: in sequence
//	ahead=7          seed for work that runs before something waits for it; 0: none does
//	leaks=1          report leaks on stderr when the last reference to a device is released
//	log=FILE         append a line per call, NAME RESULT DETAILS, and "run KERNEL DEVICE" when one
//	                 runs
//
// Beside it is a libnvcuvid.so.1 that FFmpeg may decode with. It returns the pictures of a file
// that Surfaces writes. VIDFILTER_TESTDECODER configures it:
//
//	frames=FILE      the pictures, in the order of output, needed to decode
//	first=9          the first picture to come is number 9 of them, counted from 0
//	starts=HASH:0/HASH:20
//	                 for several decoders: one whose first slice has the hash (FNV-1a, of 32 bits,
//	                 in hexadecimal) begins at the picture of this number
//	again=1          for several decoders: each begins at the first picture
//	none=1           nothing is decoded
//	create=2         the second decoder, and all after it, cannot be made
//	decode=5         the fifth picture cannot be decoded
//	map=5            the fifth picture to come does not
//	corrupt=5        the fifth picture to come is damaged and marked as such
//	hang=NAME        calls of this name never return
//	device=1         all these faults are of this device alone; with starts
//
// And there is a libnvidia-encode, which codes with x264, x265 and SVT-AV1. VIDFILTER_TESTENCODER
// configures it; a process may change it as it runs, and calls then count anew:
//
//	none=1           the device has no NVENC
//	device=1         this device alone has it
//	version=111      of the API that the driver knows: 11.1
//	sessions=2       number of sessions that may be open at once
//	opens=1          number of sessions that can be opened in all
//	av1=0            there is no AV1
//	deep=0           there are no 10 bits
//	full=0           there is no 4:4:4
//	lossless=0       there is no lossless encoding
//	lookahead=0      there is no look-ahead
//	temporal=0       there is no temporal AQ
//	side=4096        the longest side of a picture
//	call=9           the ninth call fails and does nothing
//	hang=NAME        calls of this name never return
//	log=FILE         append the name of each call
//	settings=FILE    append the parameters of each encoder as a line
package testdriver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"vidfilter/internal/e2e"
)

// Variable is the environment variable that configures the driver.
const Variable = "VIDFILTER_TESTDRIVER"

// DecoderVariable is the environment variable that configures its libnvcuvid.
const DecoderVariable = "VIDFILTER_TESTDECODER"

// EncoderVariable is the environment variable that configures its libnvidia-encode.
const EncoderVariable = "VIDFILTER_TESTENCODER"

// Surfaces begins a file of pictures for the driver's libnvcuvid: their visible size, its place in
// the coded size, the bytes of a sample, and 2 planes for 4:2:0 or 3 for 4:4:4. The samples of each
// picture follow, plane by plane, without padding.
func Surfaces(w io.Writer, width, height, left, top, bytes, planes int) error {
	return binary.Write(w, binary.LittleEndian, []int32{int32(width), int32(height), int32(left), int32(top), int32(bytes), int32(planes)})
}

// Folder builds the driver if necessary and returns the folder for LD_LIBRARY_PATH.
var Folder = sync.OnceValues(func() (string, error) { return Build("") })

// Build is Folder with the kernels of the given list; "" means the project's.
func Build(list string) (string, error) {
	top, err := e2e.Root()
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

// sources are the driver's sources, relative to the folder with go.mod.
var sources = []string{"scripts/testdriver.sh", "gpu/testdriver/src", "gpu/testdriver/nvcuvid", "gpu/testdriver/nvenc", "gpu/libcuda/include", "gpu/libcuda/src", "kernels/common.h", "kernels/layouts.h", "kernels/cuda", "denoise/device/cuda", "interlace/device/cuda", "gpu/surface/cuda", "lab/papers/cuda"}

// look accesses the sources, so that the go command does not reuse cached test results when they
// change.
func look(top string) error {
	for _, s := range sources {
		if err := e2e.Look(filepath.Join(top, s), nil); err != nil {
			return err
		}
	}
	return nil
}

// child is the environment variable that gives a process the name of its test.
const child = "VIDFILTER_TEST_CHILD"

// OnDriver runs the rest of a test in a child process, with the driver of a folder configured by
// options, since a process can load only one driver. It returns true in the child, and false in the
// process that began the test. The test fails if it does in the child, or if the driver complains.
func OnDriver(t *testing.T, folder func() (string, error), options string) bool {
	t.Helper()
	if os.Getenv(child) == t.Name() {
		return true
	}
	e2e.Needs(t, "clang-19")
	driver, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := rerun(t.Name(), driver, options); err != nil {
		t.Error(err)
	}
	return false
}

// RealDevice is the environment variable that has tests that need no fault use this machine's GPU.
// They fail without one.
const RealDevice = "VIDFILTER_TEST_GPU"

// OnDevice is OnDriver, or runs the test on this machine's GPU if RealDevice asks for it.
func OnDevice(t *testing.T, options string) bool {
	t.Helper()
	if os.Getenv(RealDevice) != "1" {
		return OnDriver(t, Folder, withLeaks(options))
	}
	if options != "" {
		// scripts/test-gpu.sh knows these words.
		t.Skip("asks for what only the test driver has: faults, or several devices")
	}
	return true
}

// withLeaks has the driver report leaks at the end, unless a fault makes it refuse all calls,
// including those that free something.
func withLeaks(options string) string {
	if regexp.MustCompile(`launch|lost|ecc|hang`).MatchString(options) {
		return options
	}
	return strings.TrimPrefix(options+",leaks=1", ",")
}

func rerun(name, folder, options string) error {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.timeout=5m", "-test.v",
		fmt.Sprintf("-test.short=%v", testing.Short()))
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

// Environ returns the environment for a program to use the driver in folder, with options.
func Environ(folder, options string) []string {
	return append(os.Environ(), "LD_LIBRARY_PATH="+folder, Variable+"="+options)
}
