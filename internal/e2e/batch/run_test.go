package batch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

type batch struct {
	*e2e.Process
	t    *testing.T
	mark string // in the environment of the process and of its children
}

var runs atomic.Int64

// quick are options by which a second of video takes a tenth of a second of work on any machine.
var quick = []string{"-r", "6", "--preset", "ultrafast", "--threads", "1", "--segment", "1s"}

// begin starts vidfilter with arguments. Entries of env may be in front: "NAME=value".
func begin(t *testing.T, args ...string) *batch {
	t.Helper()
	return beginAs(t, e2e.Program, nil, args...)
}

func beginAs(t *testing.T, program string, env []string, args ...string) *batch {
	t.Helper()
	b := &batch{t: t, mark: fmt.Sprintf("BATCHTEST=%d-%d", os.Getpid(), runs.Add(1))}
	cmd := exec.Command(program, args...)
	ours := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "VIDFILTER_") })
	cmd.Env = append(append(ours, b.mark), env...)
	b.Process = e2e.Begin(t, cmd)
	t.Cleanup(b.kill)
	return b
}

// kill ends the process as a power cut would, and fails the test if a child outlives it.
func (b *batch) kill() {
	if b.Ended() {
		return
	}
	b.Kill()
	b.alone()
}

// alone fails the test if processes are left that this one has begun.
func (b *batch) alone() {
	b.t.Helper()
	if !e2e.Within(3*time.Second, func() bool { return len(b.processes()) == 0 }) {
		b.t.Errorf("processes %v are left", b.processes())
	}
}

// processes returns the marked processes except the first.
func (b *batch) processes() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		env, err := os.ReadFile(dir + "/environ") // empty for a zombie
		if err == nil && pid != b.PID() && bytes.Contains(env, []byte(b.mark+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// child waits for a child process with a word on its command line, and returns its PID.
func (b *batch) child(word string) int {
	b.t.Helper()
	found := 0
	b.Until("a child with "+word, func() bool {
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

// end waits for the end, which must have this exit code, and returns the messages.
func (b *batch) end(code int) string {
	b.t.Helper()
	b.Wait()
	said := b.Err.String()
	if b.Code() != code {
		b.t.Fatalf("exit code %d instead of %d of %v:\n%s", b.Code(), code, b.Cmd.Args[1:], said)
	}
	b.alone()
	return said
}

// wait is end for more than one exit code.
func (b *batch) wait(good func(code int) bool) {
	b.t.Helper()
	b.Wait()
	if !good(b.Code()) {
		b.t.Errorf("exit code %d of %v:\n%s", b.Code(), b.Cmd.Args[1:], b.Err.String())
	}
}

// run runs a whole batch with the quick options and returns its messages.
func run(t *testing.T, code int, args ...string) string {
	t.Helper()
	return begin(t, job(args...)...).end(code)
}

// undisturbed returns a whole batch's outputs.
func undisturbed(t *testing.T, args ...string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "alone")
	run(t, 0, append(args, "-o", out)...)
	return contents(t, out)
}

// printed returns the output of a command that succeeds.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	b := begin(t, args...)
	b.end(0)
	return b.Out.String()
}

// job is the command line of a batch with the quick options.
func job(args ...string) []string { return append(append([]string{"batch"}, args...), quick...) }

func lacks(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(said, w) {
			t.Errorf("%q is in:\n%s", w, said)
		}
	}
}

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
	e2e.Must(t, json.Unmarshal(e2e.Read(t, name), &r))
	rows = map[string]row{}
	for _, f := range r.Files {
		rows[f.Output] = f
	}
	if len(rows) != len(r.Files) {
		t.Errorf("an output twice in %+v", r.Files)
	}
	return r, rows
}

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

// events returns the events so far, without a line cut off by a kill.
func (b *batch) events() (all []event) {
	for line := range strings.Lines(b.Err.String()) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			all = append(all, e)
		} else if strings.HasSuffix(line, "\n") && strings.HasPrefix(line, "{") {
			b.t.Errorf("no JSON: %s", line)
		}
	}
	return all
}
