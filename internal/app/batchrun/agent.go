package batchrun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/durable"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/internal/wake"
)

// AgentOptions are the options of vidfilter agent.
type AgentOptions struct {
	serverOptions
	Folder  string
	Jobs    int
	Batches int
	Work    string
	OnDone  string
	Sandbox string // of job.SandboxModes
	Quiet   bool
}

func NewAgentOptions() *AgentOptions { return &AgentOptions{Batches: 4} }

func (o *AgentOptions) Flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	o.serverOptions.flags(t)
	t.Add(cli.NewValue(&o.Batches, "N", cli.IntIn(1, 64)), "batches", "", "batches at a time (default 4)")
	t.Add(cli.NewValue(&o.Jobs, "N", cli.IntIn(0, 1024)), "jobs", "", "files and parts at a time, shared by the batches; 0 (default) depends on the machine")
	t.Add(cli.String(&o.Work, "DIR"), "work", "", "folder for temporary files (default the system's)")
	t.Add(cli.String(&o.OnDone, "CMD"), "on-done", "", "run CMD when a file or a batch ends, with JSON on stdin")
	job.SandboxFlag(t, &o.Sandbox)
	t.Flag(&o.Quiet, "quiet", "q", "print errors only")
	return fs
}

// Take checks the arguments.
func (o *AgentOptions) Take(args []string) (err error) {
	switch {
	case !o.remote():
		return cli.Usagef("vidfilter agent DIR --server tls://HOST:4222 --creds FILE", "no queue: --server is missing")
	case len(args) != 1 || !durable.IsDir(args[0]):
		return cli.Usagef("vidfilter agent DIR --server URL, where DIR holds sources and outputs", "an agent has one folder")
	}
	o.Folder, err = filepath.Abs(args[0])
	return err
}

// agent runs the batches of others.
type agent struct {
	o        *AgentOptions
	s        terminal.Stdio
	log      *slog.Logger
	requests queue.Requests
	lease    time.Duration
	work     string

	mu      sync.Mutex
	running int
	told    map[string]string // the logged reasons not to run batches
}

// agentRun is a batch in the hands of an agent.
type agentRun struct {
	request queue.RequestStatus
	folder  string
}

func newHold() string { return strings.ToLower(rand.Text()[:16]) }

// RunAgent runs the batches of others until a signal.
func RunAgent(o *AgentOptions, s terminal.Stdio) error {
	ctx, stop := terminal.UntilSignal()
	defer stop()
	s.Err = &lineWriter{w: s.Err}
	a := &agent{o: o, s: s, log: terminal.NewLogger(s.Err, o.Quiet), told: map[string]string{}}
	e, err := o.connect(jetstream.Options{Log: a.log}, "agent", shownDone)
	if err != nil {
		return err
	}
	defer e.Close()
	if a.requests = requestsOf(e); a.requests == nil {
		return cli.Usagef("without it, vidfilter batch runs a batch to its end", "agents are for the queue of vidfilter serve")
	}
	a.lease = leaseOf(e)
	var remove func()
	if a.work, remove, err = durable.TempFolder(o.Work, "vidfilter-agent"); err != nil {
		return err
	}
	defer remove()
	if job.IsSandboxOff(o.Sandbox, s.Env) {
		a.log.Info(job.WithoutSandbox)
	}
	a.log.Info(fmt.Sprintf("agent %s runs the batches of %s", workerName(), o.Folder))
	return a.run(ctx)
}

// takeEvery is how often an agent asks for a batch.
const takeEvery = time.Second

func (a *agent) run(ctx context.Context) error {
	var batches sync.WaitGroup
	defer batches.Wait()
	for range wake.Soon(ctx, takeEvery) {
		hold := ""
		if a.count(0) < a.o.Batches {
			hold = newHold()
		}
		r, err := a.requests.TakeRequest(ctx, workerName(), a.o.Folder, hold)
		switch {
		case err == nil:
			n := a.count(1)
			batches.Go(func() { a.do(ctx, r, hold, n); a.count(-1) })
		case errors.Is(err, queue.ErrRefused):
			return err
		case !errors.Is(err, queue.ErrNoRequest) && ctx.Err() == nil:
			a.log.Warn("asking for batches", "error", err)
		}
	}
	return terminal.Stopped(ctx)
}

// count changes the number of running batches, and returns it.
func (a *agent) count(by int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running += by
	return a.running
}

// do runs a batch, the nth of those that run.
func (a *agent) do(ctx context.Context, r queue.RequestStatus, hold string, n int) {
	c := &heldBatch{a.requests, r.ID, hold}
	b, err := a.batch(r, c, n)
	table := ""
	if err == nil {
		a.log.Info(fmt.Sprintf("batch %s of %s: %s", r.ID, r.User, r.Root))
		err = a.hold(ctx, c, b.do)
		table = b.table
	} else {
		err = cannotRun{err}
	}
	said, failed := "done", error(nil)
	if err != nil {
		said = text.OneLine(err.Error())
	}
	switch {
	case err != nil && ctx.Err() != nil: // the agent ends
		failed = c.giveBack("")
	case errors.As(err, new(cannotRun)), errors.Is(err, batch.ErrOutside):
		failed = c.giveBack(err.Error())
		if !a.isNews(r.ID, said) {
			return
		}
	default:
		failed = c.end(err, table)
	}
	a.log.Info(fmt.Sprintf("batch %s: %s", r.ID, said))
	if failed != nil {
		a.log.Warn("batch "+r.ID, "error", failed)
	}
}

// cannotRun is the error of a batch that another agent may be able to run.
type cannotRun struct{ error }

// isNews reports whether a reason not to run a batch was not logged before.
func (a *agent) isNews(id, why string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told[id] == why {
		return false
	}
	a.told[id] = why
	return true
}

// hold holds a batch while run runs it. The context of run ends with the hold.
func (a *agent) hold(ctx context.Context, c *heldBatch, run func(context.Context) error) error {
	var holding sync.WaitGroup
	defer holding.Wait()
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	holding.Go(func() { c.keep(ctx, a.lease, lost) })
	return run(ctx)
}

// batch returns the batch of a request, or why this agent cannot run it.
func (a *agent) batch(r queue.RequestStatus, c *heldBatch, n int) (*batchJob, error) {
	if err := a.check(r.Request); err != nil {
		return nil, err
	}
	file := filepath.Join(a.work, r.ID+".yaml")
	if err := os.WriteFile(file, r.Document, 0o600); err != nil {
		return nil, err
	}
	o := NewBatchOptions()
	o.serverOptions, o.Files, o.Progress, o.Quiet = a.o.serverOptions, []string{file}, "plain", a.o.Quiet
	o.acting = &jetstream.Acting{ID: r.ID, Hold: c.hold, Owner: r.User}
	o.Overwrite, o.RetryFailed, o.Shared, o.Webhook, o.OnDone = r.Overwrite, r.RetryFailed, r.Shared, r.Webhook, a.o.OnDone
	o.media.Threads = r.Threads
	o.Sandbox = job.SandboxMode(a.o.Sandbox, a.s.Env)
	o.agent = &agentRun{r, a.o.Folder}
	_, gpus := spreadGPUs()
	o.jobs = max(1, slots(a.o.Jobs, len(gpus), coresPerJob)/n)
	s := terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: &prefixed{w: a.s.Err, prefix: "vidfilter: " + r.ID + ": "}, Env: withoutOptions(a.s.Env)}
	b := newBatch(o, s, nil)
	b.held = c
	return b, nil
}

// check refuses a request whose files this agent does not see as its submitter did.
func (a *agent) check(r queue.Request) error {
	within, err := os.OpenRoot(a.o.Folder)
	if err != nil {
		return err
	}
	defer within.Close()
	see := func(name string) (fs.FileInfo, error) {
		rel, err := batch.Below(a.o.Folder, name)
		if err != nil {
			return nil, err
		}
		i, err := within.Stat(rel)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return i, err
	}
	for _, name := range []string{r.Root, r.Shared} {
		if name == "" {
			continue
		}
		if _, err := see(name); err != nil {
			return err
		}
	}
	if err := a.sameSite(r); err != nil {
		return err
	}
	seen := 0
	for _, f := range r.Files {
		switch i, err := see(f.Name); {
		case err != nil:
			return err
		case i == nil: // the batch reports it
		case i.Size() != f.Size || !i.ModTime().Equal(f.MTime):
			return fmt.Errorf("%q is another file here, or has changed since the batch was submitted", f.Name)
		default:
			seen++
		}
	}
	if seen == 0 && len(r.Files) > 0 {
		return fmt.Errorf("%q is not there", r.Files[0].Name)
	}
	return nil
}

// sameSite refuses a folder that has only the name of the submitter's.
func (a *agent) sameSite(r queue.Request) error {
	if r.Site == "" {
		return nil
	}
	b, err := os.ReadFile(siteFile(filepath.Join(r.Root, batch.StateDir), r.Shared))
	if err != nil || strings.TrimSpace(string(b)) != r.Site {
		return fmt.Errorf("%q is not the folder that the submitter sees", r.Root)
	}
	return nil
}

// lineWriter passes whole writes on, one at a time.
type lineWriter struct {
	w  io.Writer
	mu sync.Mutex
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// within returns the folder that the batch of an agent must not leave, or "".
func (o *BatchOptions) within() string {
	if o.agent == nil {
		return ""
	}
	return o.agent.folder
}

// checkAgent refuses a report outside of the agent's folder, and outputs elsewhere than requested.
func (b *batchJob) checkAgent() error {
	if b.o.agent == nil {
		return nil
	}
	if root := b.o.agent.request.Root; b.plan.Root != root {
		return fmt.Errorf("the batch is of %q, and its job file of %q", root, b.plan.Root)
	}
	if b.o.Report == "" {
		return nil
	}
	rel, err := batch.Below(b.o.agent.folder, b.o.Report)
	if err != nil {
		return fmt.Errorf("--report %w", err)
	}
	within, err := os.OpenRoot(b.o.agent.folder)
	if err != nil {
		return err
	}
	defer within.Close()
	if _, err := within.Stat(filepath.Dir(rel)); err != nil {
		return fmt.Errorf("--report %q: %w", b.o.Report, err)
	}
	return nil
}

func (b *batchJob) workerName() string {
	if b.o.agent == nil {
		return workerName()
	}
	return workerName() + ":" + b.o.agent.request.ID
}
