package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Log collects the output of a process. It may be read while the process writes.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Process is a running program.
type Process struct {
	Cmd      *exec.Cmd
	Out, Err *Log
	Done     chan struct{} // closed at its end
	Killed   bool          // by Kill
	t        testing.TB
}

// Begin starts a command in a process group of its own, and kills it at the end of the test. Its
// stdout goes to Out, unless it goes elsewhere already.
func Begin(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, Out: new(Log), Err: new(Log), Done: make(chan struct{}), t: t}
	if cmd.Stderr = p.Err; cmd.Stdout == nil {
		cmd.Stdout = p.Out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	Must(t, cmd.Start())
	go func() { _ = cmd.Wait(); close(p.Done) }()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(cmd.Args[1:], " "), p.Said())
		}
	})
	return p
}

// Said returns the output so far, stdout first.
func (p *Process) Said() string { return p.Out.String() + p.Err.String() }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// PID is its number.
func (p *Process) PID() int { return p.Cmd.Process.Pid }

// Code is the exit code of a process that has ended.
func (p *Process) Code() int { return p.Cmd.ProcessState.ExitCode() }

// Signal sends a signal, also to a process that has just ended.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	p.Killed = p.Killed || !p.Ended()
	_ = p.Cmd.Process.Kill()
	<-p.Done
}

// Wait waits for the end, which must come, and returns the exit code.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.Done:
	case <-time.After(Patience):
		p.Signal(syscall.SIGABRT) // prints where it hangs
		<-p.Done
		p.t.Fatalf("%s does not end: %s", strings.Join(p.Cmd.Args[1:], " "), p.Said())
	}
	return p.Code()
}

// Until waits for a condition that must come before the process ends.
func (p *Process) Until(what string, ok func() bool) {
	p.t.Helper()
	met := false
	if !Within(Patience, func() bool {
		ended := p.Ended() // before the condition, which the end may have met
		met = ok()
		return met || ended
	}) {
		p.t.Fatalf("no %s: %s", what, p.Said())
	}
	if !met {
		p.t.Fatalf("it ended (%d) before %s: %s", p.Code(), what, p.Said())
	}
}

// Says waits for words in its output.
func (p *Process) Says(words string) {
	p.t.Helper()
	p.Until("words "+words, func() bool { return strings.Contains(p.Said(), words) })
}
