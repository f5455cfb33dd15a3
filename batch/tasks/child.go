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
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"vidfilter/queue"
)

// Program is the program that the work is done by, a process a task: what one file does to it, no other task feels.
type Program struct {
	Path  string   // of the executable
	Args  []string // in front of all others
	Env   []string // of the process; nil for ours
	Stall time.Duration
	Gate  *Gate // pauses the processes; nil for none
}

// Done is how a process says that it is done: the last object of --progress json.
type Done struct {
	ExitCode int              `json:"exit_code"`
	Error    string           `json:"error"`
	Hint     string           `json:"hint"`
	Frames   int64            `json:"frame"`
	FPS      float64          `json:"fps"`
	Elapsed  float64          `json:"elapsed"`
	InSize   int64            `json:"in_size"`
	Size     int64            `json:"size"`
	Warnings []string         `json:"warnings"`
	Damage   map[string]int64 `json:"damage"`
}

// The exit codes of the program that decide about another attempt.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitInput   = 3
	exitOutput  = 4
	exitDamaged = 6
)

// ExitError is the end of a process that did not do what it was told.
type ExitError struct {
	Code   int
	Reason string // one line
}

func (e *ExitError) Error() string { return e.Reason }

// StallError is the end of a process that got nowhere.
type StallError struct{ After time.Duration }

func (e *StallError) Error() string { return fmt.Sprintf("no progress for %v", e.After) }

// Media runs a job of the main command and reports its progress. A job that is finished but damaged is no error: see Done.ExitCode. A
// process that gets nowhere for Stall is ended with a StallError; when ctx ends, so does the process, with the cause as error.
func (p Program) Media(ctx context.Context, args []string, report func(queue.Progress)) (Done, error) {
	var done Done
	var last atomic.Int64
	seen := func(line []byte) {
		var o struct {
			Type  string  `json:"type"`
			Frame int64   `json:"frame"`
			Total int64   `json:"total"`
			FPS   float64 `json:"fps"`
			Size  int64   `json:"size"`
		}
		if json.Unmarshal(line, &o) != nil {
			return
		}
		switch o.Type {
		case "done":
			_ = json.Unmarshal(line, &done)
		case "progress":
			last.Store(max(last.Load(), o.Frame+o.Size)) // an encoder that looks ahead writes before it counts
			report(queue.Progress{Frames: o.Frame, Total: o.Total, FPS: o.FPS, Bytes: o.Size})
		}
	}
	_, err := p.start(ctx, append([]string{"--progress", "json"}, args...), seen, func(int) int64 { return last.Load() })
	var exit *ExitError
	switch {
	case errors.As(err, &exit) && exit.Code == exitDamaged && done.ExitCode == exitDamaged:
		return done, nil
	case exit != nil && done.Error != "":
		exit.Reason = done.Error
	}
	return done, err
}

// watch ends a process whose count stands still. The function that it returns ends the watching.
func (p Program) watch(ctx context.Context, count func() int64, stop context.CancelCauseFunc) func() {
	if p.Stall <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	go func() {
		tick := time.NewTicker(p.Stall / 20)
		defer tick.Stop()
		was, since := int64(-1), time.Now()
		for {
			select {
			case <-quit:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if n := count(); n != was || p.Gate.Closed() {
				was, since = n, time.Now()
			} else if time.Since(since) >= p.Stall {
				stop(&StallError{p.Stall})
				return
			}
		}
	}()
	return func() { close(quit) }
}

// Output runs the program and returns what it printed. It gets on while it reads.
func (p Program) Output(ctx context.Context, args ...string) ([]byte, error) {
	return p.start(ctx, args, nil, bytesRead)
}

// bytesRead is how much a process has read of files, 0 where the system does not tell.
func bytesRead(pid int) (n int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, _ = fmt.Sscanf(string(b), "rchar: %d", &n)
	return n
}

// start runs a process to its end. Each line of its stderr goes to seen. It is ended when what count returns of it stands still.
func (p Program) start(ctx context.Context, args []string, seen func([]byte), count func(pid int) int64) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, p.Path, append(append([]string{}, p.Args...), args...)...)
	cmd.Env = p.Env
	// A process must not outlive us: nobody would know what it writes. It is killed hard, since all that it leaves has a name of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	tail := &lines{seen: seen}
	cmd.Stderr = tail
	err := onThread(func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		defer p.Gate.add(cmd.Process)()
		defer p.watch(ctx, func() int64 { return count(cmd.Process.Pid) }, stop)()
		return cmd.Wait()
	})
	tail.flush()
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return nil, cause
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, &ExitError{exit.ExitCode(), reason(exit, tail.last)}
	}
	return out.Bytes(), err
}

// onThread keeps the thread for f: the system takes the death of the thread that began a process for that of its parent.
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

// lines cuts what is written to it into lines.
type lines struct {
	seen func([]byte)
	rest []byte
	last string // that says an error, without our name in front
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
	if s != "" && s[0] != '{' && !strings.HasPrefix(s, "hint: ") {
		l.last = strings.TrimPrefix(s, "vidfilter: ")
	}
}

// Self is this program, also when another version has been installed in its place meanwhile.
func Self() Program { return Program{Path: "/proc/self/exe"} }
