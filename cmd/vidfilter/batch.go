package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vidfilter/batch"
	"vidfilter/batch/tasks"
	"vidfilter/display"
	"vidfilter/encode"
	"vidfilter/internal/text"
	"vidfilter/queue"
	"vidfilter/queue/jetstream"
)

// batchJob is one run of vidfilter batch.
type batchJob struct {
	o       *batchOptions
	s       stdio
	plan    *batch.Plan
	screen  *display.Display
	engine  queue.Engine
	site    string
	slots   int
	gate    tasks.Gate
	began   time.Time
	closers []func()
	giveUp  context.CancelCauseFunc // ends the run

	mu   sync.Mutex
	note string
	mine map[string]bool // the IDs of our jobs
}

// runBatch is vidfilter batch.
func runBatch(args []string, s stdio) error {
	o, err := parseBatch(args)
	switch {
	case err != nil:
		return err
	case o.Help:
		return printBatchHelp(s.out)
	case o.Schema:
		_, err := s.out.Write(batch.Schema(mediaFlags(), batchFlags()))
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	b := &batchJob{o: o, s: s, began: time.Now(), mine: map[string]bool{}}
	if b.plan, err = o.expand(ctx, s); err != nil {
		return err
	}
	if err := o.fromFile(b.plan.Batch); err != nil {
		return err
	}
	if err := b.checkRemote(); err != nil {
		return err
	}
	if o.Report != "" {
		if err := batch.CheckReport(o.Report); err != nil {
			return badOption(err)
		}
	}
	if o.DryRun {
		return b.sayPlan()
	}
	defer b.close()
	return b.run(ctx)
}

// untilSignal returns a context that the first signal ends, with an interruption as its cause. The next one kills, as without us.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, wantedSignals()...)
	go func() {
		if sig, ok := <-signals; ok {
			signal.Stop(signals)
			cancel(interruption{sig.(syscall.Signal)})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// badOption is a mistake on the command line that another package found.
func badOption(err error) error { return usagef(hintOf(err), "%v", err) }

func (o *batchOptions) expand(ctx context.Context, s stdio) (*batch.Plan, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir()
	plan, err := batch.Expand(ctx, batch.Request{
		Sources: o.Files, Stdin: s.in, Root: o.Root, Name: o.Name, Args: o.args, Watch: o.Watch != "",
		Dir: dir, Home: home, Env: s.env, Flags: mediaFlags(), Own: batchFlags(), Check: checkMedia,
	})
	switch {
	case err != nil && errors.As(err, new(interface{ Hint() string })):
		return nil, badOption(err)
	case err != nil:
		return nil, usagef("vidfilter batch FILES... -o DIR; all options: vidfilter batch --help", "%v", err)
	}
	return plan, nil
}

// checkMedia judges options as the main command would.
func checkMedia(args []string) error {
	_, err := parseOptions(slices.Concat([]string{"-i", "in.mkv", "-o", "out.mkv"}, args), nil)
	return err
}

// sayPlan is --dry-run.
func (b *batchJob) sayPlan() error {
	var out strings.Builder
	for _, p := range b.plan.Problems {
		fmt.Fprintf(&out, "cannot   %s\n", text.OneLine(p.Error()))
	}
	for _, item := range b.plan.Items {
		what, why := "filter", ""
		f, err := batch.Check(b.plan.Root, item, versionName())
		switch {
		case err != nil:
			what, why = "cannot", err.Error()
		case f.Verdict == batch.Done:
			what = "skip"
		case (f.Verdict == batch.Foreign || f.Verdict == batch.Edited) && !b.o.Overwrite, f.Verdict == batch.Failed && !b.o.RetryFailed:
			what, why = "leave", f.Reason
		case f.Verdict == batch.Changed:
			what, why = "again", f.Reason
		}
		line := fmt.Sprintf("%-8s %s -> %s", what, item.Source, item.OutputPath(b.plan.Root))
		if len(item.Args) > 0 {
			line += "  " + strings.Join(item.Args, " ")
		}
		if why != "" {
			line += "  (" + why + ")"
		}
		fmt.Fprintln(&out, text.OneLine(line))
	}
	_, err := io.WriteString(b.s.out, out.String())
	return err
}

func (b *batchJob) close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		b.closers[i]()
	}
}

func (b *batchJob) onClose(f func()) { b.closers = append(b.closers, f) }

// run does the batch and says what became of it.
func (b *batchJob) run(ctx context.Context) error {
	ctx, b.giveUp = context.WithCancelCause(ctx)
	defer b.giveUp(nil)
	b.openScreen()
	lock, err := batch.WaitLock(ctx, b.plan.Root, func(h *batch.Held) { b.screen.Notice("%v: waiting for it", h) })
	if err != nil {
		return err
	}
	b.onClose(lock.Unlock)
	if err := b.openQueue(); err != nil {
		return err
	}
	b.tidy()
	if err := b.openStatus(ctx); err != nil {
		return err
	}
	rows, err := b.work(ctx)
	b.screen.Close()
	for _, p := range b.plan.Problems {
		rows = append(rows, problemRow(p))
	}
	if e := b.tell(rows); e != nil && err == nil {
		err = e
	}
	var cause interruption
	switch {
	case errors.As(err, &cause):
		return &hinted{cause, "the same command goes on where this one stopped"}
	case err != nil:
		return err
	}
	return verdict(rows)
}

// tidy removes what killed runs have left, where nobody else can be at work: the lock is ours.
func (b *batchJob) tidy() {
	if b.o.remote() {
		return
	}
	if err := errors.Join(batch.Tidy(b.plan.Root), tasks.Tidy(b.plan.Root, b.site)); err != nil {
		b.screen.Warn("what an earlier run has left stays: %v", err)
	}
}

// batchError is the end of a batch in which not all was well.
type batchError struct {
	failed, damaged int
}

func (e *batchError) Error() string {
	switch {
	case e.failed == 0:
		return text.Count(e.damaged, "source") + " damaged; what could be read is in the outputs"
	case e.damaged == 0:
		return text.Count(e.failed, "file") + " failed"
	}
	return fmt.Sprintf("%s failed, %s damaged", text.Count(e.failed, "file"), text.Count(e.damaged, "source"))
}

// Is lets damaged sources give the exit code of one.
func (e *batchError) Is(target error) bool { return e.failed == 0 && target == encode.ErrDamaged }

func (e *batchError) Hint() string {
	if e.failed == 0 {
		return ""
	}
	return "the reasons are above; --retry-failed tries them again"
}

// verdict is the error of a batch, by what became of its files.
func verdict(rows []batch.Row) error {
	var e batchError
	for _, r := range rows {
		switch {
		case r.State == tasks.RowFailed || r.State == tasks.RowCancelled:
			e.failed++
		case tasks.IsDamaged(r):
			e.damaged++
		}
	}
	if e == (batchError{}) {
		return nil
	}
	return &e
}

// tell prints the table and writes the report.
func (b *batchJob) tell(rows []batch.Row) error {
	if b.o.Report != "" {
		host, _ := os.Hostname()
		meta := batch.Meta{Version: versionName(), Command: os.Args, Root: b.plan.Root, Host: host, Started: b.began, Ended: time.Now()}
		if err := batch.WriteReport(b.o.Report, rows, meta); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if b.o.Quiet || b.o.Progress == "json" || b.o.Progress == "none" || len(rows) == 0 {
		return nil
	}
	width := 120
	if isTerminal(b.s.err) {
		width = terminalWidth(b.s.err)
	}
	return batch.Table(b.s.err, rows, width)
}

func problemRow(p batch.Problem) batch.Row {
	return batch.Row{File: p.Source, Output: filepath.Base(p.Source), State: tasks.RowFailed, Reason: p.Error()}
}

func (b *batchJob) openScreen() {
	terminal := isTerminal(b.s.err) && lookup(b.s.env, "TERM") != "dumb"
	sizes := map[string]int64{}
	for _, item := range b.plan.Items {
		if i, err := os.Stat(item.Source); err == nil {
			sizes[item.Output] = i.Size()
		}
	}
	b.screen = display.New(b.s.err, display.Options{
		Mode: display.Mode(progressMode(b.o.Progress, terminal)), Quiet: b.o.Quiet,
		Size:   func() (int, int) { return terminalSize(b.s.err) },
		Env:    func(name string) string { return lookup(b.s.env, name) },
		Weigh:  func(j queue.Job) int64 { return sizes[j.Title] },
		Frames: framesOf,
	})
	b.onClose(b.screen.Close)
}

// terminalSize returns 0, 0 where there is no terminal.
func terminalSize(w io.Writer) (columns, rows int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(ws.Col), int(ws.Row)
}

// stuck is in what the queue says when it cannot write. Its server gives up on a file once a disk was full, also when there is room again.
const stuck = "still trying"

// heard passes on what the queue says, and ends the batch when its own one is stuck: the next run finds all in order.
func (b *batchJob) heard(state string) func(string) {
	var times atomic.Int32
	return func(s string) {
		b.screen.Warn("%s", s)
		if !b.o.remote() && strings.Contains(s, stuck) && times.Add(1) == 1 {
			b.giveUp(&hinted{
				fmt.Errorf("%w: the queue in %s cannot be written; is its disk full?", encode.ErrOutput, state),
				"make room; the same command goes on where this one stopped",
			})
		}
	}
}

// openQueue opens the queue: beside the outputs, or on another machine.
func (b *batchJob) openQueue() (err error) {
	state := filepath.Join(b.plan.Root, batch.StateDir)
	options := jetstream.Options{Warn: b.heard(state)}
	if b.o.remote() {
		b.engine, err = b.o.connect(options, "batch")
	} else {
		b.engine, err = jetstream.Embedded(filepath.Join(state, "queue"), options)
	}
	if err != nil {
		return err
	}
	b.onClose(func() { _ = b.engine.Close() })
	b.site, err = siteOf(state, b.o.Shared)
	return err
}

// work does the jobs, in this process and on all others that take tasks, until the last has ended.
func (b *batchJob) work(ctx context.Context) ([]batch.Row, error) {
	devices, names := spreadGPUs()
	b.slots = slots(b.o.Jobs, len(names))
	worker, stop := context.WithCancelCause(ctx)
	var working sync.WaitGroup
	defer working.Wait()
	defer stop(nil)
	next, err := b.source(worker)
	if err != nil {
		return nil, err
	}
	if err := b.leaveOthers(ctx); err != nil {
		return nil, err
	}
	runner := b.runner(devices)
	failed := make(chan error, 1)
	working.Go(func() {
		err := b.engine.Work(worker, queue.Worker{
			Name: workerName(), Sites: b.sites(), Slots: b.slots, GPUs: names,
		}, runner.Handle)
		if err != nil {
			failed <- err
			stop(err)
		}
	})
	working.Go(func() { b.guard(worker) })
	if b.o.remote() {
		working.Go(func() { tellStrangers(worker, b.engine, b.screen.Warn) })
	}
	session := &tasks.Session{
		Engine: b.engine, Root: b.plan.Root, Site: b.site, Version: versionName(), Window: b.window(),
		Retries: b.o.Retries, Pause: 5 * time.Second, Segment: b.o.Segment.Seconds(), Threads: b.threads(),
		Shared: b.o.Shared, Remote: b.o.remote() && b.o.Shared == "", Overwrite: b.o.Overwrite, RetryFailed: b.o.RetryFailed,
		Changed: b.changed, Ended: b.ended, Warn: b.screen.Warn,
	}
	rows, err := session.Run(worker, next)
	b.sweepStore(ctx)
	select {
	case err = <-failed:
	default:
	}
	return rows, err
}

// leaveOthers takes out of a queue of our own what an earlier run had begun and this one was not asked for. What is finished of it stays.
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
	program := tasks.Self()
	program.Stall, program.Gate, program.Env = b.o.Stall, &b.gate, withoutOptions(b.s.env)
	return b.remoteRunner(&tasks.Runner{
		Program: program, Blobs: b.engine.Blobs(), Results: b.engine.Results, Devices: devices, Shared: b.o.Shared,
	})
}

// withoutOptions is an environment in which no options are: what they say is among the job's own already.
func withoutOptions(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, envPrefix) })
}

// window is how many files are in the queue at once. Workers on other machines want more of them.
func (b *batchJob) window() int {
	if b.o.remote() {
		return 4*b.slots + 16
	}
	return b.slots + 1
}

// threads of a part's encoder, which decide about its bits: workers on other machines are to take as many as this one, and so is this one
// when it goes on tomorrow.
func (b *batchJob) threads() int {
	switch {
	case b.o.media.Threads > 0:
		return b.o.media.Threads
	case b.o.remote():
		return remoteThreads
	}
	return max(2, min(runtime.NumCPU()*3/2, mostThreads)) // x264's own choice, but for large machines
}

// Threads of parts: what most workers have, and where more of them cost more in quality than they bring.
const (
	remoteThreads = 8
	mostThreads   = 16
)

// source returns what yields the items: those of the plan, then those that appear in the folder that is watched.
func (b *batchJob) source(ctx context.Context) (func(context.Context) (batch.Item, bool), error) {
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
		go b.watch(ctx, dir, more)
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

// expect shows an item that is to come to the queue.
func (b *batchJob) expect(item batch.Item) {
	id := tasks.JobID(b.site, b.plan.Root, item)
	b.mu.Lock()
	b.mine[id] = true
	b.mu.Unlock()
	b.screen.Update(queue.Status{Job: queue.Job{ID: id, Title: item.Output}, State: queue.Queued, Tasks: 1, Submitted: b.began})
}

// watch yields the files that appear in a folder until ctx ends.
func (b *batchJob) watch(ctx context.Context, dir string, more chan<- batch.Item) {
	defer close(more)
	w := batch.Watcher{
		Dir: dir, Settle: b.o.Settle, Interval: min(batch.DefaultInterval, max(b.o.Settle/4, 100*time.Millisecond)), Root: b.plan.Root,
		Problem: func(path string, err error) { b.screen.Warn("%v", err) },
	}
	b.screen.Notice("watching %s; Ctrl-C ends it", dir)
	_ = w.Run(ctx, func(path string) error {
		item, err := b.plan.Add(dir, path)
		if err != nil {
			b.screen.Warn("%s: %v", path, err)
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

func (b *batchJob) changed(s queue.Status) {
	if b.isMine(s.Job.ID) {
		b.screen.Update(s)
	}
}

// isMine tells our jobs from those of others, and of earlier batches, in the same queue.
func (b *batchJob) isMine(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mine[id]
}

// ended shows what the queue does not know of: files that were over before they came to it.
func (b *batchJob) ended(r batch.Row) {
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
	id := tasks.JobID(b.site, b.plan.Root, batch.Item{Output: r.Output})
	return queue.Status{
		Job: queue.Job{ID: id, Title: r.Output}, State: state, Reason: r.Reason, Tasks: 1, Finished: 1, Submitted: b.began, Ended: b.endOf(r),
	}
}

// endOf is before this run for what an earlier one has done: it is no news.
func (b *batchJob) endOf(r batch.Row) time.Time {
	if r.State == tasks.RowSkipped {
		return b.began.Add(-time.Second)
	}
	return time.Now()
}

// guard pauses the work while the disk has too little room.
func (b *batchJob) guard(ctx context.Context) {
	guardFolder(ctx, &b.gate, b.plan.Root, b.o.MinFree, func(note string) {
		b.mu.Lock()
		b.note = note
		b.mu.Unlock()
		b.screen.Note(note)
	})
}

func (b *batchJob) held() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.note
}
