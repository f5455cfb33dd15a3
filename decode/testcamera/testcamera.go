// Package testcamera gives tests cameras without hardware: a library that replaces the C library's
// functions for /dev/videoN, and a folder with files that describe the cameras. It is loaded by
// LD_PRELOAD, so tests run the very binary that users run:
//
//	LD_PRELOAD=testcamera.so vidfilter live -i /dev/video0
//
// is a usual webcam. With VIDFILTER_TESTCAMERA=FOLDER there is a /dev/video0 while there is a file
// FOLDER/video0, which is read again at each call: Plug, Change and Unplug write it. Go's own
// package os does not see the cameras, since it does not call C.
package testcamera

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"vidfilter/internal/e2e"
)

// Variable names the folder of the cameras.
const Variable = "VIDFILTER_TESTCAMERA"

//go:embed src
var sources embed.FS

// Build compiles the library into a folder of the test and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Wno-maybe-uninitialized", "-Werror", "-o", "testcamera.so"}
	err := fs.WalkDir(sources, "src", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		if base := filepath.Base(name); strings.HasSuffix(base, ".c") {
			args = append(args, base)
		}
		return os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600)
	})
	e2e.Must(t, err)
	cmd := exec.Command("gcc", append(args, "-ldl", "-lpthread")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the test camera: %v\n%s", err, out)
	}
	return filepath.Join(dir, "testcamera.so")
}

// Folder holds the descriptions of a program's cameras.
type Folder string

// Environ returns the environment of a program with these cameras. library is the result of Build.
// They are files, which a sandbox would hide.
func (f Folder) Environ(library string) []string {
	return append(os.Environ(), "LD_PRELOAD="+library, Variable+"="+string(f), "VIDFILTER_SANDBOX=off")
}

// Device describes a camera's modes and faults. With Modes alone it works.
type Device struct {
	Name  string   // "Test Camera" when empty
	Modes []string // "YUYV 640x480 30 15", "MJPG 64x48-1920x1080 1-60": FOURCC, sizes, rates

	// errors such as "EBUSY" of opening, choosing a format, starting, and taking a picture
	OpenError, FormatError, StreamError, DequeueError string

	// Takes makes it the device of a virtual camera, which takes pictures of these formats, "YU12
	// YUYV", and of the size Keeps, "640x480", or any. They go to the file NAME-pictures, behind a
	// line with format and size; a sandbox may hide the folder once the device is open.
	Takes, Keeps string

	NoCapture bool   // a node without pictures, as every webcam has one
	Silent    bool   // no picture comes
	Damage    int    // every nth picture is damaged
	Rates     string // "fixed": the rate cannot be chosen; "unknown": nor is it reported
	Colour    string // "709 full", or "", as webcams do
	Clock     string // of the times: "wall", "none"; else monotonic
}

// Modes of a usual webcam.
var Modes = []string{"YUYV 640x480 30 15", "YUYV 1280x720 10", "YUYV 1920x1080 5", "MJPG 640x480 30", "MJPG 1280x720 30", "MJPG 1920x1080 30"}

var plugs atomic.Int64

// Plug adds a camera ("video0"). It is a new one: programs that have opened one of that name find
// it gone.
func (f Folder) Plug(t testing.TB, name string, d Device) { f.write(t, name, plugs.Add(1), d) }

// Change changes the behaviour of a camera.
func (f Folder) Change(t testing.TB, name string, d Device) {
	t.Helper()
	var plug int64
	_, err := fmt.Sscanf(string(e2e.Read(t, filepath.Join(string(f), name))), "plug %d", &plug)
	e2e.Must(t, err)
	f.write(t, name, plug, d)
}

// Unplug removes a camera.
func (f Folder) Unplug(t testing.TB, name string) {
	t.Helper()
	e2e.Must(t, os.Remove(filepath.Join(string(f), name)))
}

// Clear removes all cameras.
func (f Folder) Clear(t testing.TB) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(string(f), "video*"))
	e2e.Must(t, err)
	for _, n := range names {
		f.Unplug(t, filepath.Base(n))
	}
}

func (f Folder) write(t testing.TB, name string, plug int64, d Device) {
	t.Helper()
	temporary := filepath.Join(string(f), "next")
	e2e.Put(t, temporary, d.text(plug))
	// written atomically
	e2e.Must(t, os.Rename(temporary, filepath.Join(string(f), name)))
}

func (d Device) text(plug int64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "plug %d\n", plug)
	for _, m := range d.Modes {
		fmt.Fprintln(&b, "mode", m)
	}
	for _, s := range [][2]string{{"name", d.Name}, {"takes", d.Takes}, {"keeps", d.Keeps}, {"open", d.OpenError}, {"format", d.FormatError}, {"stream", d.StreamError},
		{"dequeue", d.DequeueError}, {"rates", d.Rates}, {"colour", d.Colour}, {"clock", d.Clock}} {
		if s[1] != "" {
			fmt.Fprintln(&b, s[0], s[1])
		}
	}
	if d.NoCapture {
		fmt.Fprintln(&b, "capture no")
	}
	if d.Silent {
		fmt.Fprintln(&b, "silent yes")
	}
	if d.Damage > 0 {
		fmt.Fprintln(&b, "damage", d.Damage)
	}
	return b.Bytes()
}

// child is set, in a process begun by OnCameras, to the name of the test to run there.
const child = "VIDFILTER_TEST_ON_CAMERAS"

// OnCameras runs the rest of a test in a child process, in which cameras can be plugged into the
// returned folder. In the parent it returns an empty name once the child has ended.
func OnCameras(t *testing.T) Folder {
	t.Helper()
	if os.Getenv(child) == t.Name() {
		return Folder(os.Getenv(Variable))
	}
	folder := Folder(t.TempDir())
	cmd := exec.Command(os.Args[0], "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.timeout=5m", "-test.v")
	cmd.Env = append(folder.Environ(Build(t)), child+"="+t.Name(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("with cameras: %v\n%s", err, out)
	}
	return ""
}
