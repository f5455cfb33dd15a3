package batchrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/status"
	"vidfilter/batch/tally"
	"vidfilter/batch/tasks"
	"vidfilter/internal/cli"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

// JobsOptions are the options of vidfilter jobs.
type JobsOptions struct {
	serverOptions
	Folder        string
	Watch, JSON   bool
	State         string
	Cancel, Retry []string
	Pause, Resume []string
	Remove, Give  []string
	To            string // who gets the jobs of Give
	Log           string // ID
	Follow        string // ID of a batch
}

// stopped is the state of an unfinished job without a running batch.
const stopped = "stopped"

var jobStates = []string{"queued", "running", stopped, "finishing", "done", "failed", "quarantined", "cancelled"}

func (o *JobsOptions) Flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	t.Flag(&o.Watch, "watch", "w", "repeat every two seconds until interrupted")
	t.Add(cli.OneOf(&o.State, jobStates), "state", "", "of one state: queued running done failed quarantined ...")
	t.Add(cli.String(&o.Follow, "ID"), "follow", "", "show the batch with this ID as vidfilter batch does, and end with its exit code")
	t.Add(cli.String(&o.Log, "ID"), "log", "", "print the messages of the processes of the job with this ID")
	t.Add(cli.NewRepeated(&o.Cancel, "ID"), "cancel", "", "cancel the job or batch with this ID; repeatable")
	t.Add(cli.NewRepeated(&o.Pause, "ID"), "pause", "", "begin no more tasks of the job or batch with this ID, on the workers of a credential (worker:NAME), or at all (all); repeatable")
	t.Add(cli.NewRepeated(&o.Resume, "ID"), "resume", "", "undo --pause; repeatable")
	t.Add(cli.NewRepeated(&o.Retry, "ID"), "retry", "", "retry the failed job, or those of a batch, with this ID; repeatable")
	t.Add(cli.NewRepeated(&o.Remove, "ID"), "remove", "", "remove the job or batch with this ID from a --server, with its files there; repeatable")
	t.Add(cli.NewRepeated(&o.Give, "ID"), "give", "", "hand the job or batch with this ID over to the credential of --to; repeatable")
	t.Add(cli.String(&o.To, "NAME"), "to", "", "credential that gets the jobs of --give")
	t.Flag(&o.JSON, "json", "", "print one JSON document")
	o.serverOptions.flags(t)
	return fs
}

// Take checks the options, and takes the folder from the arguments.
func (o *JobsOptions) Take(args []string) error {
	if err := o.serverOptions.check(); err != nil {
		return err
	}
	switch {
	case o.remote() && len(args) > 0:
		return cli.Usagef("give one of them", "a folder and --server exclude each other")
	case !o.remote() && len(args) != 1:
		return cli.Usagef("vidfilter jobs DIR, the folder of the outputs, or vidfilter jobs --server URL", "no folder and no --server")
	case !o.remote() && len(o.Remove)+len(o.Give) > 0:
		return cli.Usagef("a batch in a folder removes its jobs by itself", "--remove and --give are for the jobs of a --server")
	case !o.remote() && o.Follow != "":
		return cli.Usagef("vidfilter jobs DIR --watch", "--follow is for the batches of a --server")
	case (len(o.Give) > 0) != (o.To != ""):
		return cli.Usagef("give both", "--give and --to go together")
	case !o.remote():
		o.Folder = args[0]
	}
	return nil
}

// RunJobs prints, cancels or retries jobs.
func RunJobs(o *JobsOptions, s terminal.Stdio) error {
	if o.Follow != "" {
		return o.follow(s)
	}
	c, stop, err := o.open(s)
	if err != nil {
		return err
	}
	defer stop()
	if o.Log != "" {
		return o.printLog(c, s.Out)
	}
	if len(o.Pause)+len(o.Resume)+len(o.Cancel)+len(o.Retry)+len(o.Remove)+len(o.Give) > 0 {
		return o.act(c, s)
	}
	if !o.Watch {
		return o.print(c, s.Out)
	}
	ctx, end := terminal.UntilSignal()
	defer end()
	for {
		if err := o.print(c, s.Out); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Second):
			fmt.Fprintln(s.Out)
		}
	}
}

// jobControl lists jobs, and cancels and retries them.
type jobControl interface {
	list() (status.List, error)
	log(id string) (string, error)
	pause(id string, on bool) error
	cancel(id, reason string) error
	retry(id string) (waits string, err error) // waits is why it is not at work now, or ""
}

// open connects to the queue, or to the batch that runs in the folder; c is nil without one.
func (o *JobsOptions) open(s terminal.Stdio) (c jobControl, stop func(), err error) {
	if o.remote() {
		log := terminal.NewLogger(s.Err, false)
		most := shownDone
		over := []string{string(queue.Done), string(queue.Cancelled)}
		if slices.Contains(over, o.State) || o.JSON && o.State == "" || len(o.Retry)+len(o.Remove) > 0 { // of a batch
			most = 0
		}
		e, err := o.connect(jetstream.Options{Log: log}, "jobs", most)
		if err != nil {
			return nil, nil, err
		}
		q, err := watchQueue(e)
		if err != nil {
			return nil, nil, errors.Join(err, e.Close())
		}
		return q, func() { q.stop(); _ = e.Close() }, nil
	}
	if i, err := os.Stat(o.Folder); err != nil || !i.IsDir() {
		return nil, nil, cli.Usagef("it is the folder behind -o of vidfilter batch", "%q is no folder", o.Folder)
	}
	if running, err := controlOf(o.Folder); err == nil {
		c = running
	}
	return c, func() {}, nil
}

func (o *JobsOptions) printLog(c jobControl, w io.Writer) error {
	read := o.keptLog
	if c != nil {
		read = c.log
	}
	said, err := read(o.Log)
	if err != nil {
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(said) {
		fmt.Fprintln(&b, text.OneLine(strings.TrimSuffix(line, "\n")))
	}
	_, err = io.WriteString(w, cmp.Or(b.String(), "its processes have said nothing\n"))
	return err
}

// keptLog returns the log of a job from the queue in a folder where no batch runs. The IDs of
// records lack the end.
func (o *JobsOptions) keptLog(id string) (string, error) {
	dir := filepath.Join(o.Folder, batch.StateDir, "queue")
	if _, err := os.Stat(dir); err != nil {
		return "", cli.Usagef("it is the folder behind -o of vidfilter batch", "no batch has run in %q", o.Folder)
	}
	lock, err := batch.TryLock(o.Folder)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	e, err := jetstream.Embedded(dir, jetstream.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	defer e.Close()
	ctx := context.Background()
	all, err := tasks.Jobs(ctx, e)
	for full := range all {
		if strings.TrimSuffix(full, "-"+queue.BatchOf(full)) == id {
			id = full
		}
	}
	if err != nil {
		return "", err
	}
	return e.Log(ctx, id)
}

func (o *JobsOptions) act(c jobControl, s terminal.Stdio) error {
	if c == nil {
		return cli.Usagef("run the batch again, with --retry-failed", "no batch runs in %s", o.Folder)
	}
	l, err := c.list()
	if err != nil {
		return err
	}
	q, _ := c.(*queueJobs) // for --give and --remove: Take refuses them without a server
	var requests queue.Requests
	if q != nil {
		requests = requestsOf(q.engine)
	}
	always := func(queue.State) bool { return true }
	live := func(s queue.State) bool { return !s.Ended() }
	for _, do := range []action{
		{"pause", "paused", o.Pause, live, func(id, _ string) (string, error) { return "", c.pause(id, true) }},
		{"resume", "no longer paused", o.Resume, live, func(id, _ string) (string, error) { return "", c.pause(id, false) }},
		{"cancel", "cancelled", o.Cancel, live, func(id, batch string) (string, error) {
			if batch != "" {
				return "", c.cancel(id, queue.WithBatch)
			}
			return "", c.cancel(id, queue.ByHand)
		}},
		{"retry", "in the queue again", o.Retry, queue.State.Retryable, func(id, _ string) (string, error) { return c.retry(id) }},
		{"give", "of " + o.To + " now", o.Give, always, func(id, _ string) (string, error) { return "", q.give(id, o.To) }},
		{"remove", "removed", o.Remove, always, func(id, _ string) (string, error) { return "", q.remove(id) }},
	} {
		for _, id := range do.ids {
			if err := do.of(id, l.Jobs, requests, s); err != nil {
				return fmt.Errorf("%s %s: %w", do.what, id, err)
			}
		}
	}
	return nil
}

// changesAtOnce is how many jobs of a batch are changed at a time: a queue answers 16 requests of a
// credential at once.
const changesAtOnce = 8

// ofWorker begins the name of a credential whose workers are paused.
const ofWorker = "worker:"

// action is something to do with jobs.
type action struct {
	what, done string
	ids        []string // of jobs and batches
	applies    func(queue.State) bool
	// batch is "" if one job was named; but is what keeps the action from having an effect now
	do func(id, batch string) (but string, err error)
}

// of does the action for a job or a batch with its jobs. requests may be nil.
func (do *action) of(id string, all []tally.Job, requests queue.Requests, s terminal.Stdio) error {
	isBatch, err := do.change(id, requests)
	jobs, batch, done := []string{id}, "", text.OneLine(id)+" is "
	if !slices.ContainsFunc(all, func(j tally.Job) bool { return j.ID == id }) {
		var of []string
		for _, j := range all {
			if j.Batch == id && do.applies(j.State) {
				of = append(of, j.ID)
			}
		}
		switch {
		case len(of) == 0 && err != nil:
			return err
		case len(of) == 0 && isBatch:
			jobs = nil
		case len(of) > 0:
			jobs, batch, done = of, id, text.Count(len(of), "job")+" of "+text.OneLine(id)+": "
		}
	}
	var why string
	var mu sync.Mutex
	var doing errgroup.Group
	doing.SetLimit(changesAtOnce)
	for _, job := range jobs {
		doing.Go(func() error {
			but, err := do.do(job, batch)
			mu.Lock()
			defer mu.Unlock()
			why = cmp.Or(why, but)
			return err
		})
	}
	if err := doing.Wait(); err != nil {
		return err
	}
	if why != "" {
		why = ", but " + why
	}
	fmt.Fprintf(s.Err, "vidfilter: %s%s%s\n", done, text.OneLine(do.done), text.OneLine(why))
	return nil
}

// change changes the batch with an ID, if there is one.
func (do *action) change(id string, requests queue.Requests) (isBatch bool, err error) {
	if requests == nil || do.what == "give" || !strings.Contains(id, "--") {
		return false, nil
	}
	err = requests.ChangeRequest(context.Background(), id, do.what)
	if errors.Is(err, queue.ErrNoRequest) {
		return false, nil
	}
	return err == nil, err
}

func (o *JobsOptions) print(c jobControl, w io.Writer) error {
	l, err := o.read(c)
	if err != nil {
		return err
	}
	q, _ := c.(*queueJobs)
	var batches []queue.RequestStatus
	if q != nil {
		if batches, err = q.batches(); err != nil {
			return err
		}
	}
	if o.State != "" {
		l.Jobs = slices.DeleteFunc(l.Jobs, func(j tally.Job) bool { return string(j.State) != o.State })
	}
	if o.JSON {
		return text.JSON(w, map[string]any{"jobs": append([]tally.Job{}, l.Jobs...), "note": l.Note, "waiting": l.Totals.Waiting, "running": c != nil, "batches": append([]queue.RequestStatus{}, batches...)})
	}
	left := 0
	if q != nil && o.State == "" {
		left = q.left()
	}
	return printJobs(w, l, batches, c != nil, left)
}

// read returns the jobs of the running batch or else the jobs in the records.
func (o *JobsOptions) read(c jobControl) (l status.List, err error) {
	if c != nil {
		return c.list()
	}
	err = batch.Records(o.Folder, func(r *batch.Record, e error) {
		if r == nil {
			l.Jobs = append(l.Jobs, tally.Job{State: "unknown", Reason: e.Error()})
			return
		}
		j := tally.Job{ID: batch.Item{Output: r.Output}.ID(), Title: r.Output, State: queue.State(r.State), Reason: r.Reason, Frames: r.Frames, FPS: r.FPS}
		if r.State == batch.RecordRunning {
			j.State = stopped
		}
		l.Jobs = append(l.Jobs, j)
	})
	return l, err
}

// shownDone is how many jobs that are done or cancelled in a queue are listed, the latest.
const shownDone = 1000

// printJobs prints jobs and the batches that the queue knows of; left counts other jobs that are
// done or cancelled.
func printJobs(w io.Writer, l status.List, known []queue.RequestStatus, running bool, left int) error {
	var b strings.Builder
	count, batches := map[string]int{}, map[string]int{}
	var alone []tally.Job
	for _, j := range l.Jobs {
		count[string(j.State)]++
		if j.Batch != "" && !j.State.Ended() {
			batches[j.Batch]++
		}
		if j.Alone {
			alone = append(alone, j)
			continue
		}
		fmt.Fprintln(&b, text.OneLine(jobLine(j)))
	}
	if len(alone) > 0 {
		fmt.Fprintln(&b, "standing still, since "+queue.Unserved+":")
	}
	for _, j := range alone {
		j.Waits = ""
		fmt.Fprintln(&b, text.OneLine(jobLine(j)))
	}
	for _, r := range known {
		if !r.State.Ended() {
			fmt.Fprintln(&b, text.OneLine(batchLine(r, batches[r.ID])))
			delete(batches, r.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(batches)) {
		fmt.Fprintln(&b, text.OneLine(fmt.Sprintf("batch %s: %s to do", id, text.Count(batches[id], "job"))))
	}
	var parts []string
	for _, s := range jobStates {
		if count[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", text.Count(len(l.Jobs), "job"), cmp.Or(strings.Join(parts, ", "), "none"))
	if n := l.Totals.Waiting; n > 0 {
		fmt.Fprintf(&b, "%s more to come\n", text.Count(n, "job"))
	}
	if left > 0 {
		fmt.Fprintf(&b, "%s more, done or cancelled before: --state done lists them\n", text.Count(left, "job"))
	}
	if l.Note != "" {
		fmt.Fprintln(&b, text.OneLine(l.Note))
	}
	if !running {
		b.WriteString("no batch is running here\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// batchLine describes a batch with its number of waiting jobs.
func batchLine(r queue.RequestStatus, jobs int) string {
	parts := []string{"batch " + r.ID + ": " + text.Count(jobs, "job") + " to do"}
	if r.By != "" {
		parts = append(parts, "run by "+r.By)
	}
	if r.Waits != "" {
		parts = append(parts, "waits: "+r.Waits)
	}
	if r.Root != "" {
		parts = append(parts, "into "+r.Root)
	}
	return strings.Join(append(parts, "of "+r.User, text.Clock(time.Since(r.Submitted).Seconds())+" old"), "  ")
}

func jobLine(j tally.Job) string {
	parts := []string{fmt.Sprintf("%-9s %s", j.State, j.Title)}
	if j.State == queue.Running && j.Part != nil {
		parts = append(parts, text.Percent(*j.Part))
	}
	if facts := j.Facts(); facts != "" {
		parts = append(parts, facts)
	}
	if where := j.Where(); where != "" {
		parts = append(parts, where)
	}
	if j.User != "" {
		parts = append(parts, "of "+j.User)
	}
	if j.User != "" && j.Submitted != nil {
		parts = append(parts, text.Clock(time.Since(*j.Submitted).Seconds())+" old")
	}
	if j.Stored > 0 {
		parts = append(parts, text.Size(j.Stored)+" in the store")
	}
	if why := cmp.Or(j.Reason, j.Waits, j.Note()); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(append(parts, "["+j.ID+"]"), "  ")
}
