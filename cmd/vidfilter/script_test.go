package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
)

// TestMain lets the test binary act as the program too: scripts and signals run it as a process of
// its own.
func TestMain(m *testing.M) {
	testscript.Main(cleaner{m}, map[string]func(){"vidfilter": main})
}

type cleaner struct{ *testing.M }

func (c cleaner) Run() int {
	var err error
	if e2e.Work, err = os.MkdirTemp("", "vidfilter-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(e2e.Work)
	return c.M.Run()
}

// TestScripts runs testdata/script/*.txtar: every visible behaviour of the program, over real
// files. Each script finds in.mp4, 50 frames of 96x64 with B-frames and a tone, where the ffmpeg
// program can make it.
func TestScripts(t *testing.T) {
	if e2e.Complete { // no script is skipped then
		e2e.Needs(t, "ffmpeg", "ffprobe", "clang-19")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("SAMPLE", committedSample(t))
			if _, err := exec.LookPath("ffmpeg"); err != nil {
				return nil
			}
			clip := e2e.Clip(t, "in.mp4", "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i sine=d=2 -shortest -c:v libx264 -preset fast -c:a aac -b:a 32k")
			return os.Symlink(clip, filepath.Join(e.WorkDir, "in.mp4"))
		},
		Condition: func(name string) (bool, error) {
			if name == "root" { // whom permissions do not stop
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"clip":      scriptClip,
			"exitcode":  scriptExitCode,
			"jsonlines": scriptJSONLines,
			"leftovers": scriptLeftovers,
			"pictures":  scriptPictures,
			"smaller":   scriptSmaller,
			"driver":    scriptDriver,
			"empty":     scriptEmpty,
		},
	})
}

// committedSample is a clip that needs no other program.
func committedSample(t testing.TB) string {
	path, err := filepath.Abs("../../samples/noisy.mp4")
	e2e.Must(t, err)
	return path
}

// videoArgs draws a clip that moves in every frame, so that a lost or doubled one changes hashes.
func videoArgs(size string, seconds float64) []string {
	return []string{"-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=s=%s:r=25:d=%g", size, seconds),
		"-f", "lavfi", "-i", fmt.Sprintf("sine=d=%g", seconds), "-shortest"}
}

func makeClip(path, size string, seconds float64, args ...string) error {
	all := append(videoArgs(size, seconds), args...)
	_, said, err := e2e.Output("ffmpeg", append(all, path)...)
	if err != nil {
		return fmt.Errorf("ffmpeg %s: %w: %s", path, err, said)
	}
	return nil
}

// scriptClip is clip FILE SIZE SECONDS [FFMPEG OPTIONS...].
func scriptClip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: clip file size seconds [ffmpeg options]")
	}
	seconds, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	ts.Check(makeClip(ts.MkAbs(args[0]), args[1], seconds, args[3:]...))
}

// scriptExitCode is exitcode N COMMAND...: unlike ! exec it checks the exact exit code.
func scriptExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// scriptLeftovers is leftovers [DIR]: it fails when a temporary file is left there.
func scriptLeftovers(ts *testscript.TestScript, neg bool, args []string) {
	found := leftovers(ts.MkAbs(strings.Join(args, "")))
	if len(found) > 0 != neg {
		ts.Fatalf("temporary files: %q", found)
	}
}

func leftovers(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, ".*.vidfilter-*.tmp"))
	return found
}

// scriptEmpty is empty DIR.
func scriptEmpty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty dir")
	}
	files, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) > 0 {
		ts.Fatalf("%s has %v", args[0], files)
	}
}

// scriptDriver is driver [OPTIONS]: from here on programs find the test driver, set up so.
func scriptDriver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: driver [options]")
	}
	folder, err := testdriver.Folder()
	ts.Check(err)
	ts.Setenv("LD_LIBRARY_PATH", folder)
	ts.Setenv(testdriver.Variable, strings.Join(args, ""))
}

// scriptPictures is pictures HASHES FILE [OPTIONS...]: it writes a hash of every picture as decoded
// by the ffmpeg program. OPTIONS, such as -t, are ffmpeg's output options.
func scriptPictures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: pictures hashes file [ffmpeg options]")
	}
	hashes, err := pictureHashes(ts.MkAbs(args[1]), args[2:]...)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(hashes, "\n")), 0o600))
}

// pictureHashes decodes a video with the ffmpeg program and returns a hash of each picture.
func pictureHashes(file string, options ...string) (hashes []string, err error) {
	args := append([]string{"-v", "error", "-nostdin", "-i", file, "-map", "0:v:0"}, options...)
	args = append(args, "-fps_mode", "passthrough", "-f", "framemd5", "-")
	out, _, err := e2e.Output("ffmpeg", args...)
	if err != nil {
		return nil, fmt.Errorf("ffmpeg -i %s: %w", file, err)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "#") {
			fields := strings.Split(strings.TrimSpace(line), ",")
			hashes = append(hashes, strings.TrimSpace(fields[len(fields)-1]))
		}
	}
	return hashes, nil
}

// scriptSmaller is smaller A B: A must have at most nine tenths of B's bytes, since an option
// without effect may still change a few.
func scriptSmaller(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: smaller a b")
	}
	var size [2]int64
	for i := range size {
		st, err := os.Stat(ts.MkAbs(args[i]))
		ts.Check(err)
		size[i] = st.Size()
	}
	if size[0]*10 > size[1]*9 {
		ts.Fatalf("%s has %d bytes, %s %d", args[0], size[0], args[1], size[1])
	}
}

// scriptJSONLines is jsonlines CODE: each line of the last command's stderr is a JSON object, and
// only the last is a done object, with that exit code.
func scriptJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines code")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stderr"), "\n"), "\n")
	for i, line := range lines {
		var object struct {
			Type string `json:"type"`
			Code int    `json:"exit_code"`
		}
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("line %d: %v: %s", i+1, err, line)
		}
		if last := i == len(lines)-1; (object.Type == "done") != last || last && strconv.Itoa(object.Code) != args[0] {
			ts.Fatalf("line %d of %d: %s", i+1, len(lines), line)
		}
	}
}
