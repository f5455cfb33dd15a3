package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vidfilter/decode"
	"vidfilter/encode/target"
	"vidfilter/internal/app/job"
	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/netfile"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
)

// child is a command that runs in the sandbox, in a process of its own. This one keeps the rights
// on the output's folder, passes signals on and reports a crash.
type child struct {
	about   string          // names the input in messages
	ui      *terminal.UI    // asks and reports for a job; nil: plain errors
	verbose bool            // print the last words of a crash
	signals bool            // the child ends cleanly by them
	broker  target.Broker   // of its outputs
	service sandbox.Service // nil: the broker
	inputs  []string        // addresses among them are fetched
	idle    time.Duration   // the longest that it may make no progress; 0: for ever
	stalled atomic.Bool     // it did not start
}

// guards reports whether a command must run as a child. Only the program itself has children: in a
// test, this process is another one.
func (a *app) guards(cmd *cobra.Command) bool {
	if !a.program || sandbox.Inside() != nil {
		return false
	}
	mode := ""
	if f := cmd.Flags().Lookup("sandbox"); f != nil {
		mode = f.Value.String()
	}
	return !job.IsSandboxOff(mode, a.Env)
}

// warnWithoutSandbox warns if a command reads files without the sandbox.
func warnWithoutSandbox(mode string, s terminal.Stdio) {
	if job.IsSandboxOff(mode, s.Env) {
		terminal.NewLogger(s.Err, false).Info(job.WithoutSandbox)
	}
}

// guard makes a command run as a child.
func (a *app) guard(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		inputs := args
		in := cmd.Flags().Lookup("input")
		if in != nil {
			inputs = []string{in.Value.String()}
		}
		if !a.guards(cmd) {
			remove, err := fetchInputs(inputs, func(string) {})
			if err != nil {
				return err
			}
			defer remove()
			if in != nil {
				_ = in.Value.Set(netfile.Shown(inputs[0]))
			}
			return run(cmd, netfile.ShowFetched(args))
		}
		about := netfile.Shown(strings.Join(inputs, ", "))
		a.code, err = a.runChild(&child{about: about, inputs: inputs, signals: cmd.Name() == "cut"})
		return err
	}
	return cmd
}

// runChild runs this command line as a child, and returns its exit code.
func (a *app) runChild(c *child) (code int, err error) {
	tell := func(string) {}
	if c.ui != nil {
		tell = func(s string) { c.ui.Info(s) }
	}
	remove, err := fetchInputs(c.inputs, tell)
	if err != nil {
		return c.finish(a, err)
	}
	defer remove()
	uploads, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	c.broker.Uploads = uploads
	stop := make(chan struct{})
	if c.ui != nil {
		c.broker.Ask = func(path string) error { return c.ui.Confirm(path, stop) }
	}
	if c.service == nil {
		c.service = &c.broker
	}
	cmd := exec.Command("/proc/self/exe", netfile.ShowFetched(os.Args[1:])...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = netfile.WithoutCredentials(a.Env)
	if copies := decode.Copies(); len(copies) > 0 {
		cmd.Env = append(cmd.Env, netfile.CopiesEnv(copies))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = named(os.Args[1:])
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	g, err := sandbox.Prepare(cmd, c.service, c.signals)
	if err != nil {
		return 0, err
	}
	var signals chan os.Signal
	if c.signals {
		signals = make(chan os.Signal, 3)
		signal.Notify(signals, terminal.WantedSignals()...)
		defer signal.Stop(signals)
	}
	runtime.LockOSThread() // Pdeathsig is of the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		g.Abort()
		return 0, hint.Wrap(fmt.Errorf("start a process for the sandbox: %w", err), "--sandbox off does without")
	}
	g.Started()
	ended, passed := make(chan struct{}), make(chan syscall.Signal)
	go func() { passed <- pass(signals, g, cmd.Process, stop, ended) }()
	alive := c.watch(g, cmd.Process)
	err = cmd.Wait()
	alive()
	giveUp()
	close(ended)
	killed := <-passed
	words, crash := g.End(cmd.ProcessState)
	return a.endChild(c, cmd, killed, words, crash, err)
}

// watch kills a child without progress, until the returned function is called.
func (c *child) watch(g *sandbox.Guard, p *os.Process) (stop func()) {
	if c.idle == 0 {
		return func() {}
	}
	return g.Idle(c.idle, func() {
		c.stalled.Store(true)
		_ = p.Kill()
	})
}

// pass passes signals on. A child that does not react to two, or to SIGTERM, is killed; then it
// returns the last.
func pass(signals <-chan os.Signal, g *sandbox.Guard, p *os.Process, stop, ended chan struct{}) (killed syscall.Signal) {
	var late <-chan time.Time
	var last syscall.Signal
	for n := 1; ; n++ {
		select {
		case s := <-signals:
			last = s.(syscall.Signal)
			g.Signal(last)
			if n == 1 {
				close(stop)
			}
			switch {
			case n > 1 || last == syscall.SIGQUIT:
				late = time.After(2 * terminal.Patience)
			case last == syscall.SIGTERM:
				late = time.After(terminal.Grace + 2*terminal.Patience)
			}
		case <-late:
			_ = p.Kill()
			<-ended
			return last
		case <-ended:
			return 0
		}
	}
}

// endChild reports an end that the child has not reported itself.
func (a *app) endChild(c *child, cmd *exec.Cmd, killed syscall.Signal, words string, crash, waited error) (int, error) {
	var exit *exec.ExitError
	switch {
	case waited != nil && !errors.As(waited, &exit):
		return 0, fmt.Errorf("wait for the process in the sandbox: %w", waited)
	case crash == nil:
		_, _ = io.WriteString(a.Err, words) // of libraries
		return cmd.ProcessState.ExitCode(), nil
	case killed != 0:
		crash = terminal.Interruption{Signal: killed}
	case c.stalled.Load():
		crash = hint.Says(fmt.Sprintf("%s: no progress for %v", c.about, c.idle), "its decoder or its disk hangs; -v prints what it did last")
	default:
		crash = hint.Wrap(fmt.Errorf("%s: %w", c.about, crash), adviceOn(crash))
		if c.verbose {
			_, _ = io.WriteString(a.Err, words)
		}
	}
	return c.finish(a, crash)
}

// finish reports an error that the child has not.
func (c *child) finish(a *app, err error) (int, error) {
	if c.ui != nil {
		return c.ui.Finish(terminal.Result{}, err), nil
	}
	terminal.PrintError(a.Err, err)
	return contract.ExitCode(err), nil
}

// fetchInputs fetches the inputs that are addresses, for this process and its children. remove
// removes the copies.
func fetchInputs(inputs []string, tell func(string)) (remove func(), err error) {
	if sandbox.Inside() != nil || len(decode.Copies()) > 0 { // the parent has
		return func() {}, nil
	}
	ctx, stop := terminal.UntilSignal()
	defer stop()
	copies, remove, err := netfile.Copies(ctx, inputs, tell)
	if err == nil {
		decode.UseCopies(copies)
	}
	return remove, err
}

// adviceOn returns advice about a crash.
func adviceOn(crash error) string {
	e, ok := errors.AsType[*sandbox.CrashError](crash)
	switch {
	case ok && e.Why == sandbox.Memory:
		return av.Memory.Advice()
	case ok && e.Why == sandbox.Threads:
		return av.Threads.Advice()
	case ok && e.Why == sandbox.Killed:
		return "the system does so where memory runs out, and its log says so (dmesg); then " + av.Memory.Advice()
	}
	return "a crash is a fault of the program, whatever the file holds: please report it; --verbose prints where it was"
}

// named returns the open descriptors that arguments name, as <(command) of a shell does, each at
// its place behind the first three.
func named(args []string) (files []*os.File) {
	for _, arg := range args {
		values := []string{arg}
		if _, value, ok := strings.Cut(arg, "="); ok {
			values = append(values, value) // of --input=FILE
		}
		if len(arg) > 2 && arg[0] == '-' {
			values = append(values, arg[2:]) // of -iFILE
		}
		for _, value := range values {
			fd, ok := target.DescriptorAt(value)
			if !ok || fd < 3 {
				continue
			}
			for len(files) <= fd-3 {
				files = append(files, nil)
			}
			if files[fd-3] == nil {
				files[fd-3] = os.NewFile(uintptr(fd), arg)
			}
		}
	}
	return files
}
