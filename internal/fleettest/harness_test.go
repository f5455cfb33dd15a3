// Package fleettest_test runs serve, workers and batches of the built program beside each other on this machine, kills them, freezes them
// and starts them again, and looks at what they leave.
package fleettest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

	"vidfilter/internal/built"
	"vidfilter/queue/jetstream"
)

var (
	work    string // clips of this run
	program string // the binary under test
)

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	var err error
	if work, err = os.MkdirTemp("", "fleettest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		fmt.Fprintln(os.Stderr, "fleettest: no ffmpeg on this machine: the tests that need it are skipped")
	}
	if program, err = build("one"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes the program, as a version of its own.
func build(version string) (string, error) {
	return built.Program(work, "vidfilter-"+version, "-ldflags", "-s -w -X main.version="+version)
}

// start makes a test run beside others, or skips it. Under -short only those marked quick run.
func start(t *testing.T, quick bool) {
	t.Helper()
	built.Note(t)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("needs the ffmpeg program")
	}
	if testing.Short() && !quick {
		t.Skip("-short")
	}
	t.Parallel()
}

// patience is for what takes no time on a machine that is not busy.
const patience = 60 * time.Second

// process is the program at work.
type process struct {
	*exec.Cmd
	t    *testing.T
	log  string
	done chan struct{}
}

func run(t *testing.T, args ...string) *process { t.Helper(); return runProgram(t, program, args...) }

// runProgram starts the program, which does not outlive the test.
func runProgram(t *testing.T, name string, args ...string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{exec.Command(name, args...), t, log.Name(), make(chan struct{})}
	p.Stdout, p.Stderr = log, log
	p.Env = append(os.Environ(), "GOTRACEBACK=all")
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("vidfilter %s:\n%s", strings.Join(args, " "), p.said())
		}
	})
	return p
}

func (p *process) said() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Error(err)
	}
	return string(b)
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.done
}

// exit waits for the end, which must come with that code.
func (p *process) exit(code int) string {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT) // says where it hangs
		<-p.done
		p.t.Fatal("it does not end")
	}
	if got := p.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%s: exit code %d, want %d: %s", p.Args[1], got, code, p.said())
	}
	return p.said()
}

// says waits until the process has said something.
func (p *process) says(what string) {
	p.t.Helper()
	eventually(p.t, what, func() bool { return strings.Contains(p.said(), what) })
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("it does not come: %s", what)
		}
	}
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

// alive says whether a process runs, and is no zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// caught waits until the process is in the middle of such a task, and stops what does it there.
func (p *process) caught(word string) (child int) {
	p.t.Helper()
	eventually(p.t, p.Args[1]+" does a task "+word, func() bool {
		for _, c := range descendants(p.Process.Pid, word) {
			_ = syscall.Kill(c, syscall.SIGSTOP)
			state := func() string { b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c)); return string(b) }
			for range 100 {
				if strings.Contains(state(), ") T ") {
					child = c
					return true
				}
				time.Sleep(time.Millisecond)
			}
		}
		return false
	})
	return child
}

// server is vidfilter serve.
type server struct {
	*process
	State, URL, Creds, Status string
	PID                       int
}

func serve(t *testing.T, state, listen string, args ...string) *server {
	t.Helper()
	s := &server{State: state}
	s.process = run(t, append([]string{"serve", "--state", state, "--listen", listen, "--status", "127.0.0.1:0"}, args...)...)
	eventually(t, "serve.json", func() bool {
		b, err := os.ReadFile(filepath.Join(state, "serve.json"))
		select {
		case <-s.done:
			t.Fatalf("serve: %s", s.said())
		default:
		}
		return err == nil && json.Unmarshal(b, s) == nil && s.PID == s.Process.Pid
	})
	return s
}

// again starts the server once more where it was.
func (s *server) again(args ...string) *server {
	s.t.Helper()
	return serve(s.t, s.State, strings.TrimPrefix(s.URL, "tls://"), args...)
}

func (s *server) link() []string { return []string{"--server", s.URL, "--creds", s.Creds} }

// worker starts a worker, which is ready for parts.
func (s *server) worker(dir string, args ...string) *process {
	s.t.Helper()
	p := run(s.t, slices.Concat([]string{"worker", "--jobs", "1", "--work", dir}, s.link(), args)...)
	p.says("at once")
	return p
}

// engine is the test's own view of the queue.
func (s *server) engine() *jetstream.Engine {
	s.t.Helper()
	e, err := jetstream.Connect(s.URL, s.Creds, jetstream.ConnectOptions{Name: "test"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = e.Close() })
	return e
}

// storeIsEmpty waits until the store has nothing: who comes late removes what it has put there.
func storeIsEmpty(t *testing.T, e *jetstream.Engine) {
	t.Helper()
	var names []string
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		var err error
		if names, err = e.Blobs().List(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			return
		}
	}
	t.Errorf("in the store: %q", names)
}

// The options of every batch here: a part takes a few tenths of a second.
var media = []string{"--segment", "1s", "--threads", "1", "-r", "3", "--preset", "slow"}

// clips is a folder of them: four seconds, with sound, and of a second on its own.
func clips(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tapes")
	if err := os.CopyFS(dir, os.DirFS(madeClips(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}

var makeClips = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(work, "clips")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	for name, seconds := range map[string]string{"long.mp4": "4", "other.mov": "3"} {
		out, err := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d="+seconds,
			"-f", "lavfi", "-i", "sine=f=300:d="+seconds, "-c:v", "libx264", "-preset", "ultrafast", "-threads", "1", "-g", "25", "-c:a", "aac",
			filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("ffmpeg: %w: %s", err, out)
		}
	}
	return dir, nil
})

func madeClips(t *testing.T) string {
	t.Helper()
	dir, err := makeClips()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// undisturbed are the outputs of the same batch on one machine with nothing in its way, by name.
var undisturbed = sync.OnceValues(func() (map[string]string, error) {
	out := filepath.Join(work, "undisturbed")
	b, err := exec.Command(program, slices.Concat([]string{"batch", filepath.Join(work, "clips"), "-o", out, "-q"}, media)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("batch: %w: %s", err, b)
	}
	return outputs(out)
})

// outputs are the sums of all files of a folder, but for the batch's own.
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

// whole checks that a folder has all outputs, as the undisturbed batch has made them, and nothing else.
func whole(t *testing.T, out string) {
	t.Helper()
	madeClips(t)
	want, err := undisturbed()
	if err != nil {
		t.Fatal(err)
	}
	got, err := outputs(out)
	if err != nil {
		t.Fatal(err)
	}
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

// noFolders checks that workers have left nothing where they worked.
func noFolders(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left by workers: %q, %v", left, err)
	}
}

// batchArgs is vidfilter batch over a queue.
func (s *server) batchArgs(in, out string, more ...string) []string {
	return slices.Concat([]string{"batch", in, "-o", out, "--jobs", "1", "--progress", "plain"}, s.link(), media, more)
}

func (s *server) batch(in, out string, more ...string) *process {
	s.t.Helper()
	return run(s.t, s.batchArgs(in, out, more...)...)
}
