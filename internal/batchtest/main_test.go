// Package batchtest_test runs the batch mode of the built program and does to it what machines and people do: kill it, fill its disk, change
// its files. Clips are made by the ffmpeg program; where that is not installed, it skips.
package batchtest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"vidfilter/internal/built"
)

var (
	work    string // clips of this run, and the program
	program string // the binary under test; "" where there is no ffmpeg
)

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	flag.Parse()
	if !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.parallel") }) {
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.NumCPU())) // most of the time is spent in waiting
	}
	var err error
	if work, err = os.MkdirTemp("", "batchtest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	for _, p := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(p); err != nil {
			fmt.Fprintf(os.Stderr, "batchtest: no %s on this machine: everything is skipped\n", p)
			return m.Run()
		}
	}
	if program, err = built.Program(work, "vidfilter"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// start lets a test run beside others, or skips it. Under -short only those marked quick run.
func start(t *testing.T, quick bool) {
	t.Helper()
	built.Note(t)
	if program == "" {
		t.Skip("needs the ffmpeg program")
	}
	if testing.Short() && !quick {
		t.Skip("-short")
	}
	t.Parallel()
}

// patient skips a test of what others nearly cover, but where the long run is asked for: see TestKilled.
func patient(t *testing.T) {
	t.Helper()
	if os.Getenv("VIDFILTER_KILLS") == "" {
		t.Skip("of the long run: VIDFILTER_KILLS=100")
	}
}

// The clips, by their names: ffmpeg's arguments between the source and the name. Most have parts of a second.
var recipes = map[string]string{
	"a.mp4":     "-t 4 -c:v libx264 -g 12 -c:a aac",
	"b.mkv":     "-t 5 -c:v libx264 -g 25 -bf 2 -c:a libopus",
	"c.mov":     "-t 3 -c:v libx264 -g 20 -bf 0 -c:a pcm_s16le",
	"short.mp4": "-t 0.6 -c:v libx264 -c:a aac",
	"long.mp4":  "-t 20 -c:v libx264 -g 25 -c:a aac",
}

var made sync.Map // name -> func() error, once each

// clip returns the path of a clip, which no test may change.
func clip(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(work, name)
	f, _ := made.LoadOrStore(name, sync.OnceValue(func() error {
		args := "-v error -nostdin -y -threads 1 -f lavfi -i testsrc2=s=160x120:r=25 -f lavfi -i sine=300 -vf noise=alls=12:allf=t,format=yuv420p " +
			recipes[name]
		out, err := exec.Command("ffmpeg", append(strings.Fields(args), path)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ffmpeg %s: %w: %s", args, err, out)
		}
		return nil
	}))
	if err := f.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder is a new folder with copies of clips: as "a.mp4", or "new.mp4=a.mp4" under another name.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "in")
	must(t, os.Mkdir(dir, 0o777))
	for _, name := range names {
		as, name, renamed := strings.Cut(name, "=")
		if !renamed {
			name = as
		}
		put(t, filepath.Join(dir, as), read(t, clip(t, name)))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return b
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o777))
	must(t, os.WriteFile(name, data, 0o666))
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func hash(data []byte) string {
	if bytes.HasPrefix(data, []byte{0x1a, 0x45, 0xdf, 0xa3}) {
		data = nameless(data)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// nameless is a Matroska file without the identifiers that each file gets at random, and the checksums over them.
func nameless(data []byte) []byte {
	data = bytes.Clone(data)
	for _, id := range []struct {
		head string
		size int
	}{{"\x73\xa4\x90", 16}, {"\x73\xc5\x88", 8}, {"\x63\xc5\x88", 8}, {"\xbf\x84", 4}} {
		for rest := data; ; {
			i := bytes.Index(rest, []byte(id.head))
			if i < 0 || i+len(id.head)+id.size > len(rest) {
				break
			}
			rest = rest[i+len(id.head):]
			clear(rest[:id.size])
		}
	}
	return data
}

// state is what one can see of a file.
type state struct{ hash, time string }

// files returns what is in a folder, by name, without the batch's own.
func files(t *testing.T, dir string) map[string]state {
	t.Helper()
	all := map[string]state{}
	must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".vidfilter" {
				return filepath.SkipDir
			}
			return nil
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		all[rel] = state{hash(read(t, name)), i.ModTime().String()}
		return nil
	}))
	return all
}

// contents is files without their times.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, s := range files(t, dir) {
		all[name] = s.hash
	}
	return all
}

// untouched remembers a folder; the function that it returns fails the test where something has changed there.
func untouched(t *testing.T, dir string) func() {
	t.Helper()
	before := files(t, dir)
	return func() {
		t.Helper()
		if now := files(t, dir); !maps.Equal(before, now) {
			t.Errorf("sources were touched:\n%v\nwere\n%v", now, before)
		}
	}
}

// same fails the test where a folder's outputs are not those.
func same(t *testing.T, out string, want map[string]string) {
	t.Helper()
	if got := contents(t, out); !maps.Equal(got, want) {
		t.Errorf("in %s are %v instead of %v", out, got, want)
	}
}

// tidy fails the test where something is left that belongs to work that is over.
func tidy(t *testing.T, out string) {
	t.Helper()
	must(t, filepath.WalkDir(out, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(out, name)
		if strings.HasPrefix(rel, ".vidfilter/queue/") { // the engine's own
			return nil
		}
		below := strings.HasPrefix(rel, ".vidfilter/work/")
		if below || strings.Contains(d.Name(), ".tmp") || strings.HasPrefix(d.Name(), ".vidfilter-") {
			t.Errorf("left: %s", rel)
		}
		return nil
	}))
}

// playable fails the test where a file is not decoded to its end without a word.
func playable(t *testing.T, name string) {
	t.Helper()
	out, err := exec.Command("ffmpeg", "-v", "error", "-xerror", "-nostdin", "-threads", "1", "-i", name, "-f", "null", "-").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%s: %v: %s", name, err, out)
	}
}
