package batchtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before the test has failed.
const patience = 60 * time.Second

// batch is a run of the program.
type batch struct {
	t      *testing.T
	cmd    *exec.Cmd
	mark   string // in the environment of the process, and so in those of its children
	err    log
	out    log
	done   chan struct{} // it has ended
	killed bool
}

// log collects what a process says.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

var runs atomic.Int64

// quick are options by which a second of a clip takes a tenth of a second of work, and the same for whoever runs it.
var quick = []string{"-r", "6", "--preset", "ultrafast", "--threads", "1", "--segment", "1s"}

// begin starts vidfilter with arguments. Entries of env may be in front: "NAME=value".
func begin(t *testing.T, args ...string) *batch { t.Helper(); return beginAs(t, program, nil, args...) }

func beginAs(t *testing.T, program string, env []string, args ...string) *batch {
	t.Helper()
	b := &batch{t: t, mark: fmt.Sprintf("BATCHTEST=%d-%d", os.Getpid(), runs.Add(1)), done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b.cmd = exec.CommandContext(ctx, program, args...)
	ours := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "VIDFILTER_") })
	b.cmd.Env = append(append(ours, b.mark), env...)
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.err
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.cmd.WaitDelay = time.Second
	must(t, b.cmd.Start())
	go func() {
		_ = b.cmd.Wait()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%v takes too long: %s", args, b.err.String())
		}
		cancel()
		close(b.done)
	}()
	t.Cleanup(func() { b.kill() })
	return b
}

// kill ends the process as a power cut would, and fails the test if a child outlives it.
func (b *batch) kill() {
	select {
	case <-b.done:
		return
	default:
	}
	b.killed = true
	_ = b.cmd.Process.Kill()
	<-b.done
	b.alone()
}

// alone fails the test while processes are there that this one has begun.
func (b *batch) alone() {
	b.t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		left := b.processes()
		if len(left) == 0 {
			return
		}
		if time.Since(begun) > 3*time.Second {
			b.t.Errorf("processes %v are left", left)
			return
		}
	}
}

// processes returns those that bear the mark, but for the first one.
func (b *batch) processes() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		env, err := os.ReadFile(dir + "/environ") // empty for a zombie
		if err == nil && pid != b.cmd.Process.Pid && bytes.Contains(env, []byte(b.mark+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// child waits for a process that does the main command's work, and returns its number. word is in its command line.
func (b *batch) child(word string) int {
	b.t.Helper()
	found := 0
	b.until("a child with "+word, func() bool {
		for _, pid := range b.processes() {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(line, []byte(word)) {
				found = pid
			}
		}
		return found != 0
	})
	return found
}

// until waits for something to happen while the process runs.
func (b *batch) until(what string, ok func() bool) {
	b.t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		select {
		case <-b.done:
			if !ok() {
				b.t.Fatalf("it ended (%d) before %s: %s", b.code(), what, b.err.String())
			}
			return
		default:
		}
		if time.Since(begun) > patience/2 {
			b.t.Fatalf("no %s: %s", what, b.err.String())
		}
	}
}

// says waits for words on stderr.
func (b *batch) says(words string) {
	b.t.Helper()
	b.until("the words "+strconv.Quote(words), func() bool { return strings.Contains(b.err.String(), words) })
}

func (b *batch) signal(s os.Signal) { must(b.t, b.cmd.Process.Signal(s)) }

func (b *batch) code() int { return b.cmd.ProcessState.ExitCode() }

// end waits for the end, which must have this exit code, and returns what was said.
func (b *batch) end(code int) string {
	b.t.Helper()
	<-b.done
	said := b.err.String()
	if b.code() != code {
		b.t.Fatalf("exit code %d instead of %d of %v:\n%s", b.code(), code, b.cmd.Args[1:], said)
	}
	b.alone()
	return said
}

// wait is end for more than one exit code.
func (b *batch) wait(good func(code int) bool) {
	b.t.Helper()
	<-b.done
	if !good(b.code()) {
		b.t.Errorf("exit code %d of %v:\n%s", b.code(), b.cmd.Args[1:], b.err.String())
	}
}

// run does a whole batch with the quick options and returns what it said.
func run(t *testing.T, code int, args ...string) string {
	t.Helper()
	return begin(t, job(args...)...).end(code)
}

// job is the command line of a batch with the quick options.
func job(args ...string) []string { return append(append([]string{"batch"}, args...), quick...) }

// contains fails the test where one of the words is missing.
func contains(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("%q is not in:\n%s", w, said)
		}
	}
}

func lacks(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(said, w) {
			t.Errorf("%q is in:\n%s", w, said)
		}
	}
}

// report is what --report writes.
type report struct {
	Version string `json:"version"`
	Root    string `json:"root"`
	Totals  struct {
		Files  int            `json:"files"`
		States map[string]int `json:"states"`
	} `json:"totals"`
	Files []row `json:"files"`
}

type row struct {
	File     string `json:"file"`
	Output   string `json:"output"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Attempts int    `json:"attempts"`
	Frames   int64  `json:"frames"`
	Before   int64  `json:"bytes_before"`
	After    int64  `json:"bytes_after"`
}

func readReport(t *testing.T, name string) (r report, rows map[string]row) {
	t.Helper()
	must(t, json.Unmarshal(read(t, name), &r))
	rows = map[string]row{}
	for _, f := range r.Files {
		rows[f.Output] = f
	}
	if len(rows) != len(r.Files) {
		t.Errorf("an output twice in %+v", r.Files)
	}
	return r, rows
}

// event is a line of --progress json.
type event struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Job     struct {
		ID       string `json:"id"`
		Title    string `json:"title"`
		State    string `json:"state"`
		Reason   string `json:"reason"`
		Retried  int    `json:"retried"`
		Tasks    int    `json:"tasks"`
		Finished int    `json:"finished"`
		Parts    *struct{ All, Done, Active int }
		Active   []struct {
			Task    string `json:"task"`
			Attempt int    `json:"attempt"`
		} `json:"active"`
	} `json:"job"`
}

// events returns what was said so far. A line that is cut off by a kill is left out.
func (b *batch) events() (all []event) {
	for line := range strings.Lines(b.err.String()) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			all = append(all, e)
		} else if strings.HasSuffix(line, "\n") && strings.HasPrefix(line, "{") {
			b.t.Errorf("no JSON: %s", line)
		}
	}
	return all
}
