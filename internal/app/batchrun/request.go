package batchrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/tasks"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/internal/wake"
)

// requestsOf returns the batches of a queue of vidfilter serve, or nil for other queues.
func requestsOf(e queue.Engine) queue.Requests {
	if of, ok := e.(interface{ Requests() queue.Requests }); ok {
		return of.Requests()
	}
	return nil
}

// leaseOf returns how long a process that runs a batch may be silent.
func leaseOf(e queue.Engine) time.Duration { return e.(interface{ Lease() time.Duration }).Lease() }

// requestOfFile returns the request of a job file that was written for another machine. owner is
// the credential whose batch it is.
func requestOfFile(name string, data []byte, owner string) (queue.Request, error) {
	root, err := batch.CheckJobFile(name, data, job.NewOptions().Flags(), batchFlags(), checkMedia)
	return queue.Request{ID: queue.OwnedID(tasks.BatchID("", root), owner), Root: root, Document: data}, err
}

// mostFiles is how many sources a request shows, so that an agent knows that it sees the same.
const mostFiles = 16

// request returns the batch for agents.
func (b *batchJob) request() (queue.Request, error) {
	r := queue.Request{
		ID: queue.OwnedID(tasks.BatchID(b.site, b.plan.Root), b.owner), Root: b.plan.Root, Site: b.site,
		Overwrite: b.o.Overwrite, RetryFailed: b.o.RetryFailed, Shared: b.o.Shared, Webhook: b.o.Webhook, Threads: b.o.media.Threads,
	}
	own := append([]batch.Setting{}, b.o.own...)
	for _, s := range b.plan.Batch {
		if !b.o.given[s.Name] {
			own = append(own, s)
		}
	}
	for i := 0; i < len(b.plan.Items); i += 1 + len(b.plan.Items)/mostFiles {
		name := b.plan.Items[i].Source
		if info, err := os.Stat(name); err == nil {
			r.Files = append(r.Files, queue.File{Name: name, Size: info.Size(), MTime: info.ModTime().UTC()})
		}
	}
	var err error
	r.Document, err = b.plan.JobFile(own)
	return r, err
}

// heldBatch is a batch that this process runs for the queue.
type heldBatch struct {
	requests queue.Requests
	id, hold string
}

// keep holds the batch until ctx ends. It calls lost if the process must stop.
func (c *heldBatch) keep(ctx context.Context, lease time.Duration, lost func(error)) {
	for range wake.Every(ctx, lease/3) {
		err := c.requests.Hold(ctx, c.id, c.hold)
		switch {
		case errors.Is(err, queue.ErrCancelled), errors.Is(err, queue.ErrNoRequest):
			lost(tasks.ErrCancelled)
			return
		case errors.Is(err, queue.ErrHeld):
			lost(err)
			return
		}
	}
}

// holdFile holds the ID by which the batches of a folder hold their requests, so that a batch that
// was killed can be run again at once.
const holdFile = "hold"

func holdOf(state string) (string, error) {
	name := filepath.Join(state, holdFile)
	if b, err := os.ReadFile(name); err == nil && len(b) > 0 {
		return string(b), nil
	}
	hold := newHold()
	return hold, durable.WriteSecret(name, []byte(hold))
}

// holdBatch makes this process the one that runs the batch, unless an agent does so already.
func (b *batchJob) holdBatch(ctx context.Context) error {
	requests := requestsOf(b.engine)
	if requests == nil || b.o.Watch != "" || b.o.agent != nil {
		return nil
	}
	r, err := b.request()
	if err != nil {
		return err
	}
	hold, err := holdOf(filepath.Join(b.plan.Root, batch.StateDir))
	if err != nil {
		return unwritable(err)
	}
	_, err = requests.AddRequest(ctx, r, workerName(), hold)
	switch {
	case errors.Is(err, queue.ErrHeld):
		return b.o.heldError(r.ID, err)
	case errors.Is(err, queue.ErrQuota), errors.Is(err, queue.ErrRefused): // of an older server
		b.screen.Info(fmt.Sprintf("no agent goes on with this batch if it is killed: %v", err))
		return nil
	case err != nil:
		return err
	}
	b.held = &heldBatch{requests, r.ID, hold}
	return nil
}

func (l *serverOptions) heldError(id string, err error) error {
	return hint.Wrap(err, fmt.Sprintf("vidfilter jobs --follow %s shows it, and --cancel %[1]s ends it", id))
}

// end reports the end of the batch to the queue. err is its error.
func (c *heldBatch) end(err error, table string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	end := queue.Ending{State: queue.Done, Exit: contract.ExitCode(err), Table: table}
	switch {
	case errors.Is(err, queue.ErrHeld): // by another process
		return nil
	case errors.As(err, new(terminal.Interruption)), errors.Is(err, tasks.ErrCancelled):
		end.State = queue.Cancelled
	case err != nil && end.Exit != contract.ExitDamaged:
		end.State = queue.Failed
	}
	if err != nil {
		end.Reason, end.Hint = err.Error(), hint.Of(err)
	}
	if err = c.requests.EndRequest(ctx, c.id, c.hold, end); errors.Is(err, queue.ErrNoRequest) {
		return nil
	}
	return err
}

// giveBack lets another agent run the batch. why is "" if this one could go on with it.
func (c *heldBatch) giveBack(why string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.requests.ReturnRequest(ctx, c.id, c.hold, why)
}

// releaseBatch cancels the jobs of a batch that was cancelled, and reports the end to the queue.
// For an agent's batch the agent does.
func (b *batchJob) releaseBatch(err error) {
	if b.held == nil {
		return
	}
	var failed error
	if errors.Is(err, tasks.ErrCancelled) {
		failed = b.cancelJobs()
	}
	if b.o.agent == nil {
		failed = errors.Join(failed, b.held.end(err, b.table))
	}
	if failed != nil {
		b.screen.Warn("the queue does not know that the batch has ended", "error", failed)
	}
}

// cancelJobs cancels the jobs of a batch that was cancelled.
func (b *batchJob) cancelJobs() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	all, err := tasks.Jobs(ctx, b.engine)
	for id, s := range all {
		if queue.BatchOf(id) == b.held.id && !s.State.Ended() {
			err = errors.Join(err, b.engine.Cancel(ctx, id, queue.WithBatch))
		}
	}
	return err
}

// checkDetach refuses options of a batch that ends with its process.
func (o *BatchOptions) checkDetach() error {
	switch {
	case !o.Detach:
	case !o.remote():
		return cli.Usagef("add --server URL", "--detach hands the batch to the queue of a server, and there is no --server")
	case o.Watch != "":
		return cli.Usagef("leave out one of them", "--detach and --watch exclude each other")
	case o.Status != "":
		return cli.Usagef("vidfilter serve --status ADDR has a page of all batches", "--detach and --status exclude each other")
	case o.OnDone != "":
		return cli.Usagef("give --on-done to vidfilter agent, or --webhook to the batch", "--detach and --on-done exclude each other: the command would run on the agent's machine, as its user")
	}
	return nil
}

// takenWithin is how long --detach waits for an agent to take the batch.
const takenWithin = 3 * time.Second

// detach hands the batch to the queue.
func (b *batchJob) detach(ctx context.Context) error {
	log := terminal.NewLogger(b.s.Err, b.o.Quiet)
	for _, p := range b.plan.Problems {
		log.Warn(p.Error())
	}
	e, err := b.o.connect(jetstream.Options{Log: log}, "batch", shownDone)
	if err != nil {
		return err
	}
	defer e.Close()
	requests := requestsOf(e)
	if requests == nil {
		return cli.Usagef("leave it out: vidfilter batch then runs the batch", "--detach needs the queue of vidfilter serve, which has agents")
	}
	b.owner, b.site = e.(interface{ Name() string }).Name(), b.seenSite()
	r, err := b.request()
	if err != nil {
		return err
	}
	s, err := requests.AddRequest(ctx, r, "", "")
	if errors.Is(err, queue.ErrQuota) {
		return hint.Wrap(err, "name a folder, or a pattern in quotes, in place of many files")
	} else if errors.Is(err, queue.ErrHeld) {
		return b.o.heldError(r.ID, err)
	}
	for begun := time.Now(); err == nil && s.State == queue.Queued && time.Since(begun) < takenWithin; {
		if err = wake.Sleep(ctx, 200*time.Millisecond); err == nil {
			s, err = requests.Request(ctx, r.ID)
		}
	}
	if err != nil {
		return err
	}
	switch {
	case s.State == queue.Queued:
		log.Warn(fmt.Sprintf("batch %s waits: %s", r.ID, s.Waits))
	case s.By != "":
		log.Info(fmt.Sprintf("batch %s is run by %s", r.ID, s.By))
	}
	log.Info(fmt.Sprintf("follow it: vidfilter jobs --server %s --creds %s --follow %s", b.o.Server, b.o.Creds, r.ID))
	_, err = fmt.Fprintln(b.s.Out, r.ID)
	return err
}

// seenSite returns the site of the folder if this machine sees the files, else "".
func (b *batchJob) seenSite() string {
	state := filepath.Join(b.plan.Root, batch.StateDir)
	if len(b.plan.Items) == 0 || durable.MkdirAll(state) != nil {
		return ""
	}
	site, err := siteOf(state, b.o.Shared)
	if err != nil {
		return ""
	}
	return site
}

// tableOf returns the table of a batch's files.
func tableOf(rows []batch.Row, width int) string {
	var t bytes.Buffer
	if len(rows) > 0 {
		_ = batch.Table(&t, rows, width) // a buffer takes all
	}
	return t.String()
}

// prefixed puts a prefix before each line.
type prefixed struct {
	w      io.Writer
	prefix string
	rest   []byte // a line without its end
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		p.rest = rest
		if _, err := fmt.Fprintf(p.w, "%s%s\n", p.prefix, strings.TrimPrefix(string(line), "vidfilter: ")); err != nil {
			return 0, err
		}
	}
}
