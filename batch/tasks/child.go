package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
	"vidfilter/internal/machine"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/wake"
)

// Program runs vidfilter in a process for each task, so that a crash on one file harms no other
// task.
type Program struct {
	Path  string   // of the executable
	Args  []string // come first
	Env   []string // of the process; nil for our own
	Stall time.Duration
	Gate  *Gate // pauses the processes; may be nil

	// Service makes the processes children in a sandbox, and does for each what needs the user's
	// rights. Nil: they keep the rights.
	Service func() sandbox.Service
}

// ExitError is the error of a process that failed.
type ExitError struct {
	Code     int
	Signaled bool   // it was killed, or crashed
	Starved  bool   // for lack of memory
	Reason   string // one line
	Cause    string // see contract.Done
}

func (e *ExitError) Error() string { return e.Reason }

// StallError is the error of a process that made no progress.
type StallError struct{ After time.Duration }

func (e *StallError) Error() string { return fmt.Sprintf("no progress for %v", e.After) }

// Media runs a job of the main command and reports its progress. A job that finished with damage
// is no error; see Done.ExitCode. A process without progress for Stall is killed, with a
// StallError. When ctx ends, the process is killed, and the error is the cause.
func (p Program) Media(ctx context.Context, args []string, report func(queue.Progress)) (contract.Done, error) {
	f := &follower{report: report}
	_, err := p.start(ctx, append([]string{"--progress", "json"}, args...), f.line, func(int) int64 { return f.last.Load() })
	done := f.done
	for _, w := range done.Warnings {
		queue.Log(ctx, "warning: "+w)
	}
	for _, s := range []string{done.Error, done.Hint} {
		if s != "" {
			queue.Log(ctx, s)
		}
	}
	var exit *ExitError
	switch {
	case errors.As(err, &exit) && exit.Code == contract.ExitDamaged && done.ExitCode == contract.ExitDamaged:
		return done, nil
	case exit != nil && done.Error != "":
		exit.Reason, exit.Cause = done.Error, done.Cause
	}
	return done, err
}

// follower reads the progress and the result of a job.
type follower struct {
	report func(queue.Progress)
	last   atomic.Int64 // grows as long as the job does
	done   contract.Done
}

func (f *follower) line(b []byte) {
	var o contract.Progress
	if json.Unmarshal(b, &o) != nil {
		return
	}
	switch o.Type {
	case contract.TypeDone:
		_ = json.Unmarshal(b, &f.done)
	case contract.TypeProgress:
		// an encoder with lookahead writes before it counts
		f.last.Store(max(f.last.Load(), o.Frame+o.Size))
		f.report(progressOf(o))
	}
}

// progressOf takes no negative count from a child, which may be out of order.
func progressOf(o contract.Progress) queue.Progress {
	p := queue.Progress{Frames: max(o.Frame, 0), FPS: max(o.FPS, 0), Bytes: max(o.Size, 0)}
	if o.Total != nil {
		p.Total = max(*o.Total, 0)
	}
	return p
}

// watch calls stop if count does not change for Stall, until the returned function is called.
func (p Program) watch(ctx context.Context, count func() int64, stop context.CancelCauseFunc) func() {
	if p.Stall <= 0 {
		return func() {}
	}
	ctx, quit := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		was, since := int64(-1), time.Now()
		for range wake.Every(ctx, p.Stall/20) {
			if n := count(); n != was || p.Gate.Closed() {
				was, since = n, time.Now()
			} else if time.Since(since) >= p.Stall {
				stop(&StallError{p.Stall})
				return
			}
		}
	})
	return func() { quit(); watching.Wait() }
}

// Output runs the program and returns its stdout. Reading counts as progress.
func (p Program) Output(ctx context.Context, args ...string) ([]byte, error) {
	return p.start(ctx, args, nil, bytesRead)
}

// bytesRead returns how much a process has read, or 0 if that is unknown.
func bytesRead(pid int) (n int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, _ = fmt.Sscanf(string(b), "rchar: %d", &n)
	return n
}

// start runs a process to its end, and passes each line of its stderr to seen. The process is
// killed if the result of count stops changing.
func (p Program) start(ctx context.Context, args []string, seen func([]byte), count func(pid int) int64) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, p.Path, slices.Concat(p.Args, args)...)
	cmd.Env = p.Env
	// A child must not outlive us: its output would not be checked. SIGKILL is safe: its files have
	// names of their own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	tail := &lines{seen: seen, say: func(line string) { queue.Log(ctx, line) }}
	cmd.Stderr = tail
	guard, err := p.guard(cmd)
	if err != nil {
		return nil, err
	}
	kills := machine.KilledForMemory()
	err = onThread(func() error {
		if err := cmd.Start(); err != nil {
			guard.Abort()
			return err
		}
		guard.Started()
		defer p.Gate.add(cmd.Process)()
		defer p.watch(ctx, func() int64 { return count(cmd.Process.Pid) }, stop)()
		return cmd.Wait()
	})
	tail.flush()
	starved := p.Gate.hasStarved(cmd.Process)
	_, crash := guard.End(cmd.ProcessState)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return nil, cause
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		e := &ExitError{Code: exit.ExitCode(), Signaled: exit.ExitCode() < 0 || crash != nil, Reason: reason(exit, tail.last)}
		if crash != nil && e.Code >= 0 {
			e.Reason = crash.Error()
		}
		var signal syscall.Signal
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			signal = s.Signal()
		}
		if e.Starved = e.Signaled && (starved || isStarved(signal, kills, crash)); e.Starved {
			e.Reason = starvedReason
		}
		return nil, e
	}
	return out.Bytes(), err
}

// guard prepares a process for the sandbox; its result is nil without one.
func (p Program) guard(cmd *exec.Cmd) (*sandbox.Guard, error) {
	if p.Service == nil {
		return nil, nil
	}
	return sandbox.Prepare(cmd, p.Service(), false)
}

// onThread runs f on a locked thread: for Pdeathsig, the parent is the thread that started the
// process.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return <-done
}

func reason(exit *exec.ExitError, last string) string {
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return fmt.Sprintf("the process was killed by signal %d (%v)", s.Signal(), s.Signal())
	}
	if last != "" {
		return last
	}
	return fmt.Sprintf("exit code %d", exit.ExitCode())
}

type lines struct {
	seen func([]byte)
	say  func(string) // takes lines that are no JSON; may be nil
	rest []byte
	last string // the last one that is no JSON and no hint, without our name
}

const longestLine = 1 << 20

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			break
		}
		l.line(l.rest[:i])
		l.rest = l.rest[i+1:]
	}
	if len(l.rest) > longestLine {
		l.rest = nil
	}
	return len(b), nil
}

func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.line(l.rest)
		l.rest = nil
	}
}

func (l *lines) line(b []byte) {
	if l.seen != nil {
		l.seen(b)
	}
	s := strings.TrimSpace(string(b))
	if l.say != nil && s != "" && s[0] != '{' {
		l.say(strings.TrimRight(string(b), " \t\r"))
	}
	if s != "" && s[0] != '{' && !strings.HasPrefix(s, "hint: ") {
		l.last = strings.TrimPrefix(s, "vidfilter: ")
	}
}

// Self is this program, even if another version has been installed over it.
func Self() Program { return Program{Path: "/proc/self/exe"} }
