// Package testcamera gives tests cameras that need no hardware: a library that stands in for the C library's functions
// where they lead to /dev/videoN, and a folder whose files say what cameras there are. It is found by LD_PRELOAD, so what
// is tested is the very binary that users run:
//
//	LD_PRELOAD=testcamera.so vidfilter live -i /dev/video0
//
// is a usual webcam. With VIDFILTER_TESTCAMERA=FOLDER there is a /dev/video0 while there is a file FOLDER/video0, which is read
// again at each call: Plug, Change and Unplug write it. Go's own package os does not see the cameras, since it calls no C.
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
)

// Variable names the folder of the cameras.
const Variable = "VIDFILTER_TESTCAMERA"

//go:embed src
var sources embed.FS

// Build compiles the library, in a folder of the test's, and returns its path.
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
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", append(args, "-ldl", "-lpthread")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the test camera: %v\n%s", err, out)
	}
	return filepath.Join(dir, "testcamera.so")
}

// Folder is where the cameras of a program are described.
type Folder string

// Environ returns the environment of a program that is to find the cameras, by the library that Build made.
func (f Folder) Environ(library string) []string {
	return append(os.Environ(), "LD_PRELOAD="+library, Variable+"="+string(f))
}

// Device is what a camera offers and does. The zero value but for Modes is one that works.
type Device struct {
	Name  string   // "Test Camera" when empty
	Modes []string // "YUYV 640x480 30 15", "MJPG 64x48-1920x1080 1-60": FOURCC, sizes, rates

	OpenError, FormatError, StreamError, DequeueError string // as "EBUSY": what opening, choosing a format, starting, taking a picture gives

	NoCapture bool   // a node that gives no pictures, as every webcam has one beside
	Silent    bool   // no picture comes
	Damage    int    // every so manieth picture is damaged
	Rates     string // "fixed": the rate cannot be chosen; "unknown": nor is it told
	Colour    string // "709 full"; else as webcams: not told
	Clock     string // of the times: "wall", "none"; else monotonic
}

// Modes of a usual webcam.
var Modes = []string{"YUYV 640x480 30 15", "YUYV 1280x720 10", "YUYV 1920x1080 5", "MJPG 640x480 30", "MJPG 1280x720 30", "MJPG 1920x1080 30"}

var plugs atomic.Int64

// Plug makes a camera ("video0") be there, one that was not there before: who has opened the one before finds it gone.
func (f Folder) Plug(t testing.TB, name string, d Device) { f.write(t, name, plugs.Add(1), d) }

// Change makes a camera that is there behave otherwise.
func (f Folder) Change(t testing.TB, name string, d Device) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(f), name))
	if err != nil {
		t.Fatal(err)
	}
	var plug int64
	if _, err := fmt.Sscanf(string(text), "plug %d", &plug); err != nil {
		t.Fatal(err)
	}
	f.write(t, name, plug, d)
}

// Unplug pulls a camera out.
func (f Folder) Unplug(t testing.TB, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(string(f), name)); err != nil {
		t.Fatal(err)
	}
}

// Clear pulls all cameras out.
func (f Folder) Clear(t testing.TB) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(string(f), "video*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		f.Unplug(t, filepath.Base(n))
	}
}

func (f Folder) write(t testing.TB, name string, plug int64, d Device) {
	t.Helper()
	temporary := filepath.Join(string(f), "next")
	if err := os.WriteFile(temporary, d.text(plug), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(string(f), name)); err != nil { // it is never half there
		t.Fatal(err)
	}
}

func (d Device) text(plug int64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "plug %d\n", plug)
	for _, m := range d.Modes {
		fmt.Fprintln(&b, "mode", m)
	}
	for _, s := range [][2]string{{"name", d.Name}, {"open", d.OpenError}, {"format", d.FormatError}, {"stream", d.StreamError},
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

// child names, in a process that OnCameras has begun, the test that is to run there.
const child = "VIDFILTER_TEST_ON_CAMERAS"

// OnCameras runs the rest of a test in a process of its own, in which cameras can be plugged into the folder returned. It
// returns an empty name in the process that began the test, when the other has ended.
func OnCameras(t *testing.T) Folder {
	t.Helper()
	if os.Getenv(child) == t.Name() {
		return Folder(os.Getenv(Variable))
	}
	folder := Folder(t.TempDir())
	cmd := exec.Command(os.Args[0], "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.timeout=5m", "-test.v",
		fmt.Sprintf("-test.short=%v", testing.Short()))
	cmd.Env = append(folder.Environ(Build(t)), child+"="+t.Name(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("with cameras: %v\n%s", err, out)
	}
	return ""
}
