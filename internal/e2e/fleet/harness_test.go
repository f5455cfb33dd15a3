// Package fleet tests servers, workers and batches of the built program beside each other on one
// machine: it kills them, freezes them, starts them again, and checks the files and processes that
// remain.
package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, 1, "-X vidfilter/internal/cli.version=one") }

type process struct {
	*e2e.Process
	t *testing.T
}

func run(t *testing.T, args ...string) *process {
	t.Helper()
	return runProgram(t, e2e.Program, args...)
}

func runProgram(t *testing.T, name string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	return &process{e2e.Begin(t, cmd), t}
}

// exit waits for the end, which must come with that code, and returns the output.
func (p *process) exit(code int) string {
	p.t.Helper()
	if got := p.Wait(); got != code {
		p.t.Fatalf("%s: exit code %d, want %d: %s", p.Cmd.Args[1], got, code, p.Said())
	}
	return p.Said()
}

// outAfter checks the exit code and returns the output.
func (p *process) outAfter(code int) string {
	p.t.Helper()
	p.exit(code)
	return p.Out.String()
}

// descendants are the children of a process with a word on their command line.
func descendants(pid int, word string) (found []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, f := range strings.Fields(string(b)) {
			line, _ := os.ReadFile("/proc/" + f + "/cmdline")
			if n, err := strconv.Atoi(f); err == nil && bytes.Contains(line, []byte(word)) {
				found = append(found, n)
			}
		}
	}
	return found
}

// alive reports whether a process runs and is not a zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// caught waits until a child of the process is in the middle of such a task, and stops the child.
func (p *process) caught(word string) (child int) {
	p.t.Helper()
	e2e.Until(p.t, p.Cmd.Args[1]+" does a task "+word, func() bool {
		for _, c := range descendants(p.PID(), word) {
			_ = syscall.Kill(c, syscall.SIGSTOP)
			stopped := func() bool {
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c))
				return strings.Contains(string(b), ") T ")
			}
			if e2e.Within(100*time.Millisecond, stopped) {
				child = c
				return true
			}
		}
		return false
	})
	return child
}

type server struct {
	*process
	State, URL, Listen, Creds, Submitter, Status string
	PID                                          int
}

func serve(t *testing.T, state, listen string, args ...string) *server {
	t.Helper()
	s := &server{State: state}
	s.process = run(t, append([]string{"serve", "--state", state, "--listen", listen, "--status", "127.0.0.1:0"}, args...)...)
	s.Until("serve.json", func() bool {
		b, err := os.ReadFile(filepath.Join(state, "serve.json"))
		return err == nil && json.Unmarshal(b, s) == nil && s.PID == s.process.PID()
	})
	return s
}

// again restarts the server at its address.
func (s *server) again(args ...string) *server {
	s.t.Helper()
	return serve(s.t, s.State, strings.TrimPrefix(s.URL, "tls://"), args...)
}

// link is for all but workers.
func (s *server) link() []string { return []string{"--server", s.URL, "--creds", s.Submitter} }

// worker starts a worker and waits until it takes parts.
func (s *server) worker(dir string, args ...string) *process {
	s.t.Helper()
	p := run(s.t, slices.Concat([]string{"worker", "--jobs", "1", "--work", dir, "--server", s.URL, "--creds", s.Creds}, args)...)
	p.Says("at once")
	return p
}

// engine is the test's own view of the queue, with all rights.
func (s *server) engine() *jetstream.Engine {
	s.t.Helper()
	e := must(must(jetstream.OpenAdmin(s.State, s.Listen, pki.Files{})).Engine(""))
	s.t.Cleanup(func() { _ = e.Close() })
	return e
}

// storeIsEmpty waits until the store is empty: late workers remove their own objects.
func storeIsEmpty(t *testing.T, e *jetstream.Engine) {
	t.Helper()
	var names []string
	if !e2e.Within(10*time.Second, func() (empty bool) {
		var err error
		names, err = e.Blobs().List(context.Background(), "")
		e2e.Must(t, err)
		return len(names) == 0
	}) {
		t.Errorf("in the store: %q", names)
	}
}

// The options of every batch here: a part takes a few tenths of a second.
var media = []string{"--segment", "1s", "--threads", "1", "-r", "3", "--preset", "slow"}

// clips returns a new folder with two clips with sound, of four and three seconds.
func clips(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tapes")
	e2e.Must(t, os.CopyFS(dir, os.DirFS(madeClips(t))))
	return dir
}

// madeClips returns the folder of the clips, which no test may change.
func madeClips(t *testing.T) string {
	t.Helper()
	for name, seconds := range map[string]string{"long.mp4": "4", "other.mov": "3"} {
		e2e.Clip(t, "clips/"+name, "-f lavfi -i testsrc2=s=320x180:r=25:d="+seconds+" -f lavfi -i sine=f=300:d="+seconds+
			" -c:v libx264 -preset ultrafast -threads 1 -g 25 -c:a aac")
	}
	return filepath.Join(e2e.Work, "clips")
}

// undisturbed has the hashes of the same batch's outputs on one machine, by name.
var undisturbed = sync.OnceValues(func() (map[string]string, error) {
	out := filepath.Join(e2e.Work, "undisturbed")
	b, err := exec.Command(e2e.Program, slices.Concat([]string{"batch", filepath.Join(e2e.Work, "clips"), "-o", out, "-q"}, media)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("batch: %w: %s", err, b)
	}
	return outputs(out)
})

// outputs returns the hashes of all files of a folder except the batch's own.
func outputs(dir string) (map[string]string, error) {
	sums := map[string]string{}
	return sums, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".vidfilter" {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(name)
		sum := sha256.Sum256(b)
		sums[strings.TrimPrefix(name, dir+"/")] = hex.EncodeToString(sum[:])
		return err
	})
}

// whole checks that a folder has exactly the outputs of the undisturbed batch.
func whole(t *testing.T, out string) {
	t.Helper()
	madeClips(t)
	want, err := undisturbed()
	e2e.Must(t, err)
	got, err := outputs(out)
	e2e.Must(t, err)
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%s is %.12s, undisturbed %.12s", name, got[name], sum)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is there, too", name)
	}
	isEmpty(t, filepath.Join(out, ".vidfilter", "work"))
}

// isEmpty checks that no file is left in a folder, if there is one.
func isEmpty(t *testing.T, dir string) {
	t.Helper()
	left, _ := outputs(dir)
	for name := range left {
		t.Errorf("left in %s: %s", dir, name)
	}
}

// noFolders checks that workers left their work folder empty.
func noFolders(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left by workers: %q, %v", left, err)
	}
}

// batchArgs is the command line of a batch over the server's queue.
func (s *server) batchArgs(in, out string, more ...string) []string {
	return slices.Concat([]string{"batch", in, "-o", out, "--jobs", "1", "--progress", "plain"}, s.link(), media, more)
}

func (s *server) batch(in, out string, more ...string) *process {
	s.t.Helper()
	return run(s.t, s.batchArgs(in, out, more...)...)
}

// ended stops a worker, which leaves no files in its work folder.
func (p *process) ended(dir string) {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	p.exit(0)
	noFolders(p.t, dir)
}

// delivered checks the outputs of a batch and that the store is empty.
func (s *server) delivered(out string) {
	s.t.Helper()
	whole(s.t, out)
	storeIsEmpty(s.t, s.engine())
}

// must returns a value of a setup that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
