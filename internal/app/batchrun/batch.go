package batchrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/display"
	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/status"
	"vidfilter/batch/tally"
	"vidfilter/batch/tasks"
	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/target"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
	"vidfilter/internal/netfile"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/internal/wake"
)

// batchJob is one run of vidfilter batch.
type batchJob struct {
	o       *BatchOptions
	s       terminal.Stdio
	unknown []string // warnings about the environment
	plan    *batch.Plan
	screen  *display.Display
	engine  queue.Engine
	own     *jetstream.Engine // the same, unless it is another machine's
	page    *status.Queue
	session *tasks.Session
	site    string
	owner   string            // our credential, if the queue knows it
	ours    map[string]string // IDs of our jobs that were in the queue before, by JobID
	slots   int
	gate    tasks.Gate
	report  *job.Document
	hooks   *hooks
	held    *heldBatch // nil: the queue does not know of the batch
	table   string     // of the files, at the end
	began   time.Time
	closers []func()
	giveUp  context.CancelCauseFunc // cancels the run

	mu      sync.Mutex
	note    string // reason for a pause
	full    string // reason for putting tasks back
	outside string // why no task may begin now

	asked []string // the ending and options of which why is the reason to keep a video whole
	why   string

	ahead map[string]int64 // sizes of the sources that are not queued yet
	whole sync.Map         // why videos are one stream, as far as it was said
}

// RunBatch filters the files of a batch. unknown are warnings about the environment.
func RunBatch(o *BatchOptions, s terminal.Stdio, unknown []string) error {
	if o.Schema {
		_, err := s.Out.Write(batch.Schema(job.NewOptions().Flags(), batchFlags()))
		return err
	}
	ctx, stop := terminal.UntilSignal()
	defer stop()
	return newBatch(o, s, unknown).do(ctx)
}

func newBatch(o *BatchOptions, s terminal.Stdio, unknown []string) *batchJob {
	return &batchJob{o: o, s: s, unknown: unknown, began: time.Now(), ahead: map[string]int64{}}
}

// do checks the options, and runs the batch.
func (b *batchJob) do(ctx context.Context) (err error) {
	o := b.o
	for _, step := range []func() error{
		o.checkDetach,
		func() (err error) { b.plan, err = o.expand(ctx, b.s); return err },
		func() error { return o.fromFile(b.plan.Batch) },
		o.statusOptions.check,
		b.checkRemote,
		o.checkReport,
		func() error { return o.checkPreviews(b.plan) },
		func() error { return checkWebhook(o.Webhook) },
		b.checkAgent,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	switch {
	case o.DryRun:
		return b.printPlan()
	case o.Detach:
		return b.detach(ctx)
	}
	defer b.close()
	if b.report, err = b.openReport(); err != nil {
		return err
	}
	b.onClose(b.report.Discard)
	return b.run(ctx)
}

func (o *BatchOptions) checkReport() error {
	if o.Report == "" {
		return nil
	}
	if err := batch.CheckReport(o.Report); err != nil {
		return cli.BadOption(err)
	}
	return nil
}

// openReport checks that the report can be written before any work is done. It must not replace
// a source or a list of sources.
func (b *batchJob) openReport() (*job.Document, error) {
	var inputs []string
	for _, name := range b.o.Files {
		inputs = append(inputs, strings.TrimPrefix(name, "@"))
	}
	for _, item := range b.plan.Items {
		inputs = append(inputs, item.Source)
	}
	return job.OpenDocument(b.o.Report, inputs)
}

func (o *BatchOptions) expand(ctx context.Context, s terminal.Stdio) (*batch.Plan, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir()
	plan, err := batch.Expand(ctx, batch.Request{
		Sources: o.Files, Stdin: s.In, Root: o.Root, Name: o.Name, Args: o.args, Watch: o.Watch != "",
		Dir: dir, Home: home, State: stateFolder(home), Env: s.Env, Within: o.within(), Flags: job.NewOptions().Flags(), Own: batchFlags(), Check: checkMedia,
	})
	switch {
	case errors.Is(err, batch.ErrOutside), errors.As(err, new(*netfile.Error)):
		return nil, err
	case err != nil && errors.As(err, new(interface{ Hint() string })):
		return nil, cli.BadOption(err)
	case err != nil:
		return nil, cli.Usagef("vidfilter batch FILES... -o DIR; for all options: vidfilter batch --help", "%v", err)
	}
	return plan, nil
}

// stateFolder returns the folder for the states of batches with outputs in a store, or "".
func stateFolder(home string) string {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" && home != "" {
		state = filepath.Join(home, ".local", "state")
	}
	if state == "" {
		return ""
	}
	return filepath.Join(state, "vidfilter")
}

// checkMedia checks options as the main command does. If the output is unknown Matroska stands
// in for it, since it holds most.
func checkMedia(output string, args []string) error {
	o, err := parseMedia(output, args)
	if err == nil && decode.Refers(o.InputFormat) {
		err = cli.Usagef("filter it with vidfilter -i", "--input-format %s: such a file names others, and a batch takes each file by itself", o.InputFormat)
	}
	return err
}

func parseMedia(output string, args []string) (*job.Options, error) {
	return job.Parse(slices.Concat([]string{"-i", "in.mkv", "-o", "out" + cmp.Or(path.Ext(output), ".mkv")}, args), nil)
}

// keptWhole reports whether options need the whole video in one process. If parts were requested,
// it logs each reason once.
func (b *batchJob) keptWhole(output string, args []string) bool {
	why := b.wholeOf(output, args)
	if why == "" {
		return false
	}
	if asked := b.o.given["segment"] || b.o.Segment != NewBatchOptions().Segment; asked {
		if _, again := b.whole.LoadOrStore(why, true); !again {
			b.screen.Logger.Info("filtering each video as one stream: " + why)
		}
	}
	return true
}

// wholeOf returns job.Options.Whole. It keeps the last answer, since most jobs have the same
// options.
func (b *batchJob) wholeOf(output string, args []string) string {
	asked := append([]string{path.Ext(output)}, args...)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(asked, b.asked) {
		b.asked, b.why = asked, ""
		if o, err := parseMedia(output, args); err == nil {
			b.why = o.Whole()
		}
	}
	return b.why
}

// jobOptions reads the options of another machine's job.
func jobOptions(output string, args []string) (all, deciding []string, err error) {
	all, deciding, err = batch.Canonical(job.NewOptions().Flags(), args)
	if err == nil {
		err = checkMedia(output, all)
	}
	return all, deciding, err
}

// printPlan is --dry-run.
func (b *batchJob) printPlan() error {
	var out strings.Builder
	cannot := len(b.plan.Problems)
	for _, p := range b.plan.Problems {
		fmt.Fprintf(&out, "cannot   %s\n", text.OneLine(p.Error()))
	}
	for _, item := range b.plan.Items {
		what, why := "filter", ""
		f, err := batch.Check(b.plan.Root, item, batch.Program{Version: cli.Version(), RemakeOlder: b.o.RemakeOlder})
		switch {
		case err != nil:
			what, why = "cannot", err.Error()
			cannot++
		case f.Verdict == batch.Done:
			what = "skip"
			if v := f.Record.Version; v != cli.Version() {
				why = fmt.Sprintf("made by version %s; --remake-older makes it again", v)
			}
		case (f.Verdict == batch.Foreign || f.Verdict == batch.Edited) && !b.o.Overwrite, f.Verdict == batch.Failed && !b.o.RetryFailed:
			what, why = "leave", f.Reason
		case f.Verdict == batch.Changed:
			what, why = "again", f.Reason
		}
		line := fmt.Sprintf("%-8s %s -> %s", what, item.Source, item.OutputPath(b.plan.Root))
		if len(item.Args) > 0 {
			line += "  " + strings.Join(item.Args, " ")
		}
		if o, err := parseMedia(item.Output, item.Args); err == nil && o.Footage != "" {
			line += "  [" + o.FootageLine() + "]"
		}
		if why != "" {
			line += "  (" + why + ")"
		}
		fmt.Fprintln(&out, text.OneLine(line))
	}
	if _, err := io.WriteString(b.s.Out, out.String()); err != nil || cannot == 0 {
		return err
	}
	return hint.Wrap(fmt.Errorf("%s cannot be filtered", text.Count(cannot, "file")), "the reasons are above; the others would be done")
}

func (b *batchJob) close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		b.closers[i]()
	}
}

func (b *batchJob) onClose(f func()) { b.closers = append(b.closers, f) }

// collectEarly collects garbage often, since the memory of a batch grows with its files. That costs
// little beside the work of its children.
func collectEarly(env []string) {
	const percent = 40
	if cli.Lookup(env, "GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// run does the batch and reports the result.
func (b *batchJob) run(ctx context.Context) (err error) {
	collectEarly(b.s.Env)
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, b.giveUp = context.WithCancelCause(ctx)
	defer b.giveUp(nil)
	b.openScreen()
	for _, line := range b.unknown {
		b.screen.Warn(line)
	}
	if job.IsSandboxOff(b.o.Sandbox, b.s.Env) {
		b.screen.Info(job.WithoutSandbox)
	}
	lock, err := batch.WaitLock(ctx, b.plan.Root, func(err *batch.LockedError) { b.screen.Info(fmt.Sprintf("%v: waiting for it", err)) })
	if err != nil {
		return unwritable(err)
	}
	b.onClose(lock.Unlock)
	stillThere := func() error {
		err := lock.Check()
		if err != nil {
			err = hint.Wrap(fmt.Errorf("%w: %w", target.ErrOutput, err), hint.Of(err))
		}
		return err
	}
	watching.Go(func() { b.watchFolder(ctx, stillThere) })
	if err := b.openQueue(); err != nil {
		return err
	}
	if err := b.holdBatch(ctx); err != nil {
		return err
	}
	defer func() { b.releaseBatch(err) }()
	if b.held != nil && b.o.agent == nil {
		watching.Go(func() { b.held.keep(ctx, leaseOf(b.engine), b.giveUp) })
	}
	b.tidy()
	if err := b.openStatus(ctx); err != nil {
		return err
	}
	b.hooks = newHooks(b.o.OnDone, b.o.Webhook, b.s.Env, b.screen.Logger)
	rows, err := b.work(ctx)
	if err == nil {
		err = stillThere()
	}
	b.lost(rows)
	for _, p := range b.plan.Problems {
		rows = append(rows, problemRow(p))
	}
	if err == nil {
		b.previews(ctx, rows)
	}
	if e := b.writeReport(rows); err == nil {
		err = e
	}
	err = outcome(rows, err)
	b.hooks.end(b.noticeOfBatch(rows, err))
	b.table = tableOf(rows, 120)
	b.screen.Close()
	if e := b.showTable(rows); err == nil {
		err = e
	}
	return err
}

// outcome returns the error of a batch whose work ended with err.
func outcome(rows []batch.Row, err error) error {
	var cause terminal.Interruption
	switch {
	case errors.As(err, &cause):
		return hint.Wrap(cause, resumeHint)
	case errors.Is(err, tasks.ErrCancelled):
		return hint.Wrap(err, resumeHint)
	case err != nil:
		return err
	}
	return verdict(rows)
}

// notice returns the fields that all notices share.
func (b *batchJob) notice(id string) batch.Notice {
	host, _ := os.Hostname()
	return batch.Notice{ID: id, Time: time.Now().UTC(), Host: host, Version: cli.Version(), Root: contract.Name(b.plan.Place())}
}

func (b *batchJob) noticeOfBatch(rows []batch.Row, err error) batch.Notice {
	n := b.notice(queue.BatchOf(b.id(batch.Item{})))
	n.Event, n.State, n.Exit, n.Totals = "batch", tasks.RowDone, new(contract.ExitCode(err)), new(batch.TotalsOf(rows))
	switch {
	case errors.As(err, new(terminal.Interruption)):
		n.State = "interrupted"
	case errors.Is(err, tasks.ErrCancelled):
		n.State = tasks.RowCancelled
	case err != nil && *n.Exit != contract.ExitDamaged:
		n.State = tasks.RowFailed
	}
	if err != nil {
		n.Reason = err.Error()
	}
	return n
}

const resumeHint = "the same command goes on where this one stopped"

// unwritable marks the error of a read-only folder as one of the output.
func unwritable(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return fmt.Errorf("%w: %w", target.ErrOutput, err)
	}
	return err
}

// watchFolder ends the batch when its folder disappears, and its lock with it.
func (b *batchJob) watchFolder(ctx context.Context, stillThere func() error) {
	for range wake.Every(ctx, time.Second) {
		if err := stillThere(); err != nil {
			b.giveUp(err)
			return
		}
	}
}

// lost marks done files as failed if their outputs are gone. With --watch outputs may be taken
// away.
func (b *batchJob) lost(rows []batch.Row) {
	for i, r := range rows {
		if b.o.Watch != "" || r.State != tasks.RowDone && r.State != tasks.RowDamaged && r.State != tasks.RowSkipped {
			continue
		}
		if err := tasks.Missing(b.plan.Root, batch.Item{Output: r.Output, Store: b.plan.Store}); err != nil {
			r.State, r.Damaged, r.Reason, r.After = tasks.RowFailed, false, err.Error(), 0
			rows[i] = r
			b.screen.Update(b.unqueued(r, queue.Failed))
		}
	}
}

// tidy removes leftovers of killed runs. We hold the lock, so no other batch runs here.
func (b *batchJob) tidy() {
	if b.o.remote() {
		return
	}
	if err := errors.Join(batch.Tidy(b.plan.Root), tasks.Tidy(b.plan.Root, b.site)); err != nil {
		b.screen.Warn("cannot remove leftovers of an earlier run", "error", err)
	}
}

// verdict returns the error of a batch from its files. If no file failed, but sources are damaged
// or outputs lack properties of theirs, the exit code is ExitDamaged, as for one file.
func verdict(rows []batch.Row) error {
	failed, damaged, lossy := 0, 0, 0
	for _, r := range rows {
		switch {
		case r.State == tasks.RowFailed || r.State == tasks.RowCancelled:
			failed++
		case r.Damaged:
			damaged++
		case contract.Losses(r.Differences) != nil:
			lossy++
		}
	}
	counts := func(n int, what, how string) string {
		if n == 0 {
			return ""
		}
		return text.Count(n, what) + how
	}
	words := text.List(counts(failed, "file", " failed"), counts(damaged, "source", " damaged"), counts(lossy, "output", " with losses"))
	switch {
	case failed > 0:
		return hint.Says(words, "the reasons are above; --retry-failed tries them again")
	case lossy > 0:
		return hint.Says(words+"; the reasons are above", "", encode.ErrDamaged)
	case damaged > 0:
		return hint.Says(words+"; the outputs hold everything readable", "", encode.ErrDamaged)
	}
	return nil
}

// writeReport writes the report, if one was asked for.
func (b *batchJob) writeReport(rows []batch.Row) error {
	if b.o.Report == "" {
		return nil
	}
	host, _ := os.Hostname()
	meta := batch.Meta{Version: cli.Version(), Command: netfile.ShownArgs(os.Args), Root: b.plan.Place(), Host: host, Started: b.began, Ended: time.Now()}
	err := b.report.Write(func(w io.Writer) error { return batch.WriteReport(w, b.o.Report, rows, meta) })
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (b *batchJob) showTable(rows []batch.Row) error {
	if b.o.Quiet || b.o.Progress == "json" || b.o.Progress == "none" || len(rows) == 0 {
		return nil
	}
	width := 120
	if terminal.IsTerminal(b.s.Err) {
		width, _ = terminal.TerminalSize(b.s.Err)
	}
	_, err := io.WriteString(b.s.Err, tableOf(rows, width))
	return err
}

func problemRow(p batch.Problem) batch.Row {
	return batch.Row{File: p.Source, Output: filepath.Base(p.Source), State: tasks.RowFailed, Reason: p.Error()}
}

func (b *batchJob) openScreen() {
	sizes := map[string]int64{}
	for _, item := range b.plan.Items {
		if i, err := os.Stat(item.Source); err == nil {
			sizes[item.Output] = i.Size()
		}
	}
	screen := terminal.NewScreen(b.s, terminal.ScreenOptions{
		Progress: b.o.Progress, Quiet: b.o.Quiet && b.o.Progress != "json", Patient: true,
	})
	b.screen = display.New(screen, display.Options{Sums: tally.Options{
		Weigh:  func(j queue.Job) int64 { return sizes[j.Title] },
		Bytes:  sizeOf,
		Frames: framesOf,
	}})
	b.onClose(b.screen.Close)
}

// openQueue opens the queue, beside the outputs or on another machine.
func (b *batchJob) openQueue() (err error) {
	state := filepath.Join(b.plan.Root, batch.StateDir)
	options := jetstream.Options{Log: b.screen.Logger}
	if b.o.remote() {
		b.engine, err = b.o.connect(options, "batch", shownDone)
	} else {
		// NATS stops writing a file for good after ENOSPC, even once space is free. The next run
		// recovers.
		options.Failing = func() {
			b.giveUp(hint.Wrap(
				fmt.Errorf("%w: the queue in %s cannot be written: its disk is full or failing", target.ErrOutput, state),
				"make room; "+resumeHint,
			))
		}
		dir := filepath.Join(state, "queue")
		b.own, err = jetstream.Embedded(dir, options)
		b.engine = b.own
		if err != nil && !errors.As(err, new(*jetstream.Error)) {
			err = target.OutputError("open the queue in", dir, err)
		}
	}
	if err != nil {
		return err
	}
	b.onClose(func() { _ = b.engine.Close() })
	if b.site, err = siteOf(state, b.o.Shared); err != nil {
		return err
	}
	if named, ok := b.engine.(interface{ Name() string }); ok {
		b.owner = named.Name()
		b.ours, err = tasks.OwnJobs(context.Background(), b.engine, b.owner)
	}
	return err
}

// id names the job of an item, in a queue of several credentials after ours. A job that was handed
// over to us keeps its name.
func (b *batchJob) id(item batch.Item) string {
	id := tasks.JobID(b.site, b.plan.Root, item)
	if b.o.agent != nil {
		id = tasks.IDOf(queue.BaseOf(b.o.agent.request.ID), item)
	}
	return cmp.Or(b.ours[id], queue.OwnedID(id, b.owner))
}

// work does the jobs, here and on other workers, until the last has ended.
func (b *batchJob) work(ctx context.Context) ([]batch.Row, error) {
	devices, names := spreadGPUs()
	b.slots = slots(cmp.Or(b.o.jobs, b.o.Jobs), len(names), b.cores())
	worker, stop := context.WithCancelCause(ctx)
	var working sync.WaitGroup
	defer working.Wait()
	defer stop(nil)
	b.session = &tasks.Session{
		Settings: tasks.Settings{
			Root: b.plan.Root, Segment: b.o.Segment.Seconds(), Remote: b.o.remote() && b.o.Shared == "",
			Shared: b.o.Shared, Overwrite: b.o.Overwrite, Threads: b.threads(),
		},
		Engine: b.engine, Site: b.site, ID: b.id, Version: cli.Version(), Window: b.window(),
		Retries: b.o.Retries, Priority: b.o.Priority, Deaths: b.o.Deaths, Pause: 5 * time.Second, Whole: b.keptWhole, RetryFailed: b.o.RetryFailed, RemakeOlder: b.o.RemakeOlder,
		Changed: b.changed, Ended: b.ended, Log: b.screen.Logger,
	}
	next, err := b.source(worker, &working)
	if err != nil {
		return nil, err
	}
	if err := b.leaveOthers(ctx); err != nil {
		return nil, err
	}
	runner := b.runner(devices)
	runner.Address = b.session.Address
	runner.Own = func(id string) (queue.Job, bool) { return b.session.Job(id), b.isMine(id) }
	failed := make(chan error, 1)
	working.Go(func() {
		err := b.engine.Work(worker, b.worker(names, runner), b.reportFull(runner.Handle))
		if err != nil {
			failed <- err
			stop(err)
		}
	})
	working.Go(func() {
		guardFolder(worker, &b.gate, b.plan.Root, b.o.MinFree, func(why string) { b.block(&b.note, why) })
	})
	working.Go(func() { b.o.Hours.follow(worker, func(why string) { b.block(&b.outside, why) }) })
	if b.o.remote() {
		working.Go(func() { reportOldWorkers(worker, b.engine, b.screen.Logger) })
	}
	rows, err := b.session.Run(worker, next)
	b.sweepStore(ctx)
	select {
	case err = <-failed:
	default:
	}
	return rows, err
}

// worker describes this process as a worker. With a server, a held worker leaves tasks to others;
// tasks that only it can do wait, with a note.
func (b *batchJob) worker(gpus []string, r *tasks.Runner) queue.Worker {
	w := queue.Worker{Name: b.workerName(), Sites: b.sites(), Slots: b.slots, GPUs: gpus, Ahead: b.waiting, Version: cli.Version()}
	if b.o.Shared == "" {
		w.Home = r.Sites
	}
	w.Hold = b.o.Hours.hold
	if b.o.remote() {
		w.Hold = func() string { return cmp.Or(b.o.Hours.hold(), r.Hold()) }
	}
	return w
}

// leaveOthers cancels unfinished jobs of earlier runs that this run does not include. Finished
// parts stay.
func (b *batchJob) leaveOthers(ctx context.Context) error {
	if b.o.remote() {
		return nil
	}
	var others []string
	look, live := context.WithCancel(ctx)
	defer live()
	err := b.engine.Watch(look, func(s queue.Status) {
		if look.Err() == nil && !s.State.Ended() && !b.isMine(s.Job.ID) {
			others = append(others, s.Job.ID)
		}
	}, live)
	if err != nil && look.Err() == nil {
		return err
	}
	for _, id := range others {
		if err := b.engine.Cancel(ctx, id, "a later run was not asked for it"); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (b *batchJob) runner(devices []string) *tasks.Runner {
	program := programOf(b.o.Sandbox, b.s.Env, b.slots, 0)
	program.Stall, program.Gate = b.o.Stall, &b.gate
	return b.remoteRunner(&tasks.Runner{
		Program: program, Version: cli.Version(), Blobs: b.engine.Blobs(), Results: b.engine.Results, Devices: devices,
		Shared: b.o.Shared, Within: b.o.within(), Options: jobOptions,
	})
}

// programOf returns this program, in a sandbox or not. tasksAtOnce tasks share the machine, and
// that many bytes of its memory; 0 for all.
func programOf(mode string, env []string, tasksAtOnce int, memory int64) tasks.Program {
	p := tasks.Self()
	p.Env = netfile.WithoutCredentials(withoutOptions(env))
	if tasksAtOnce > 1 {
		p.Env = append(p.Env, fmt.Sprintf("%s=%d", cli.EnvName("sharers"), tasksAtOnce))
	}
	if memory > 0 {
		p.Env = append(p.Env, fmt.Sprintf("%s=%d", cli.EnvName("sharers-memory"), memory))
	}
	if mode = job.SandboxMode(mode, env); mode != "" {
		p.Env = append(p.Env, cli.EnvName("sandbox")+"="+mode)
	}
	if mode == "off" {
		return p
	}
	p.Service = func() sandbox.Service { return new(target.Broker) }
	return p
}

// withoutOptions removes options from an environment: they are in each job's own options
// already.
func withoutOptions(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, cli.EnvPrefix) })
}

// window is how many files are queued at once. Workers on other machines need more.
func (b *batchJob) window() int {
	if b.o.remote() {
		return 4*b.slots + 16
	}
	return b.slots + 1
}

// threads returns the encoder threads of a part, which change its bits: other workers and later
// runs must use the same number.
func (b *batchJob) threads() int {
	switch {
	case b.o.media.Threads > 0:
		return b.o.media.Threads
	case b.o.remote():
		return remoteThreads
	}
	return max(2, min(runtime.GOMAXPROCS(0)*3/2, mostThreads)) // x264's default, but limited
}

// Most workers have remoteThreads; more than mostThreads cost more quality than they gain.
const (
	remoteThreads = 8
	mostThreads   = 16
)

// source returns a function that yields the items of the plan, then new files of a watched
// folder.
func (b *batchJob) source(ctx context.Context, working *sync.WaitGroup) (func(context.Context) (batch.Item, bool), error) {
	items := slices.Clone(b.plan.Items)
	slices.SortStableFunc(items, func(x, y batch.Item) int { return y.Priority - x.Priority })
	for _, item := range items {
		b.expect(item)
	}
	var more chan batch.Item
	if b.o.Watch != "" {
		dir, err := filepath.Abs(b.o.Watch)
		if err != nil {
			return nil, err
		}
		more = make(chan batch.Item)
		working.Go(func() { b.watch(ctx, dir, more) })
	}
	return func(ctx context.Context) (batch.Item, bool) {
		if len(items) > 0 {
			item := items[0]
			items = items[1:]
			return item, true
		}
		if more == nil {
			return batch.Item{}, false
		}
		select {
		case item, ok := <-more:
			return item, ok
		case <-ctx.Done():
			return batch.Item{}, false
		}
	}, nil
}

// expect shows an item before it is queued.
func (b *batchJob) expect(item batch.Item) {
	id := b.id(item)
	size := int64(0)
	if i, err := os.Stat(item.Source); err == nil {
		size = i.Size()
	}
	if !b.isMine(id) {
		b.mu.Lock()
		b.ahead[id] = size
		b.mu.Unlock()
	}
	b.screen.Update(queue.Status{Job: queue.Job{ID: id, Title: item.Output}, State: queue.Queued, Tasks: 1, Submitted: b.began})
}

// watch sends the files that appear in a folder until ctx ends.
func (b *batchJob) watch(ctx context.Context, dir string, more chan<- batch.Item) {
	defer close(more)
	w := batch.Watcher{
		Dir: dir, Settle: b.o.Settle, Interval: min(batch.DefaultInterval, max(b.o.Settle/4, 100*time.Millisecond)), Root: b.plan.Root,
		Problem: func(path string, err error) { b.screen.Warn(err.Error()) },
		Left:    func(path string) bool { return b.left(ctx, dir, path) },
	}
	b.screen.Info("watching " + dir + "; Ctrl-C ends it")
	_ = w.Run(ctx, func(path string) error {
		item, err := b.plan.Add(dir, path)
		if err != nil {
			b.screen.Warn(path, "error", err)
			return nil
		}
		b.expect(item)
		select {
		case more <- item:
		case <-ctx.Done():
		}
		return nil
	})
}

// left forgets a file that has left the watched folder, since a folder may see 100,000. It returns
// false for one that is not done. The file's record stays beside the output.
func (b *batchJob) left(ctx context.Context, dir, path string) bool {
	item, err := b.plan.Find(dir, path)
	if err != nil {
		return true
	}
	id := b.id(item)
	if b.session.Job(id).ID != "" {
		return false
	}
	if b.own != nil && b.own.Forget(ctx, id) != nil {
		return false
	}
	b.plan.Drop(item)
	b.screen.Forget(id)
	b.page.Forget(id)
	return true
}

// arrived notes that a job was queued, or never will be.
func (b *batchJob) arrived(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ahead, id)
}

// waiting counts the jobs that are not queued yet.
func (b *batchJob) waiting() queue.Backlog {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := queue.Backlog{Jobs: len(b.ahead)}
	for _, size := range b.ahead {
		sum.Bytes += size
	}
	return sum
}

func (b *batchJob) changed(s queue.Status) {
	b.arrived(s.Job.ID)
	if b.isMine(s.Job.ID) {
		b.screen.Update(s)
	}
}

// isMine distinguishes our jobs from others in the same queue: the screen has seen them.
func (b *batchJob) isMine(id string) bool { return b.screen.Knows(id) }

// ended sends the notice of a file that has ended, and shows it if it was not queued.
func (b *batchJob) ended(r batch.Row) {
	id := b.id(batch.Item{Output: r.Output})
	b.arrived(id)
	if r.State != tasks.RowSkipped {
		n := b.notice(id)
		n.Of(r)
		b.hooks.add(n)
	}
	switch r.State {
	case tasks.RowSkipped:
		b.screen.Update(b.unqueued(r, queue.Done))
	case tasks.RowFailed:
		if r.Attempts == 0 {
			b.screen.Update(b.unqueued(r, queue.Failed))
		}
	}
}

func (b *batchJob) unqueued(r batch.Row, state queue.State) queue.Status {
	ended := time.Now()
	if r.State == tasks.RowSkipped { // by an earlier run: no news
		ended = b.began.Add(-time.Second)
	}
	id := b.id(batch.Item{Output: r.Output})
	return queue.Status{
		Job: queue.Job{ID: id, Title: r.Output}, State: state, Reason: r.Reason, Tasks: 1, Finished: 1,
		Submitted: b.began, Ended: ended,
	}
}

// reportFull shows that a task found the disk full, until one succeeds.
func (b *batchJob) reportFull(h queue.Handler) queue.Handler {
	return func(ctx context.Context, j queue.Job, t queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
		out, err := h(ctx, j, t, report)
		full := ""
		if errors.Is(err, queue.ErrStoreFull) {
			full = "waiting for room in the queue's store: it goes on when other files are joined, or with a larger --max-store of serve"
		} else if errors.Is(err, tasks.ErrFull) {
			free, _, _ := durable.Space(b.plan.Root)
			full = fmt.Sprintf("waiting for room: the disk of %s is full, %s free; make room, and it goes on", b.plan.Root, text.Size(free))
		} else if err != nil {
			return out, err
		}
		b.block(&b.full, full)
		return out, err
	}
}

// block sets one of the reasons why the batch waits, or with "" removes it, and shows the first.
func (b *batchJob) block(reason *string, why string) {
	b.mu.Lock()
	*reason = why
	b.mu.Unlock()
	b.screen.Note(b.blocked())
}

// blocked is the reason why the batch waits, or "".
func (b *batchJob) blocked() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.note, b.full, b.outside)
}
