package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/netfile"
	"vidfilter/internal/wake"
)

// States of a batch.Row.
const (
	RowDone      = "done"
	RowSkipped   = "skipped" // done in an earlier run
	RowDamaged   = "damaged" // done, but with damage or losses: see Row.Reason
	RowFailed    = "failed"
	RowCancelled = "cancelled"
)

// Session submits the items of a batch, a few at a time, and follows them to their ends.
type Session struct {
	Settings
	Engine queue.Engine
	Site   string // workers that reach them
	// names the job of an item; nil: JobID does
	ID          func(batch.Item) string
	Version     string // of the program
	Window      int    // jobs in the queue at a time, so that some finish before all have begun
	Retries     int
	Priority    int           // of items without one
	Deaths      int           // see queue.Job
	Pause       time.Duration // before an unreadable file is checked again; doubles each time
	RetryFailed bool
	RemakeOlder bool // outputs of other versions are made again

	// Whole reports whether options of the main command need the whole file in one process.
	Whole func(output string, args []string) bool

	Changed func(queue.Status) // called with every change; may be nil
	// called with every finished item, also of earlier runs; may be nil
	Ended func(batch.Row)
	Log   *slog.Logger // nil: none

	mu      sync.Mutex
	open    map[string]*entry    // by job
	jobs    map[string]queue.Job // as submitted, without done jobs
	ended   map[string]*entry    // failed or cancelled: may be retried
	left    map[string]bool      // jobs of others, or of an earlier run, that have not ended
	changed chan struct{}        // an item has ended
	off     bool                 // the batch was cancelled
	rows    []batch.Row

	beside sync.WaitGroup // the goroutines of Run
}

// entry is an item in the queue.
type entry struct {
	item    batch.Item
	found   batch.Finding
	record  batch.Record
	again   int         // times it was started over
	whole   bool        // must not be cut
	renewed atomic.Bool // being started over: news of the old job is ignored
	paused  bool
}

// knownJob is the state of a job in the queue.
type knownJob struct {
	digest string
	state  queue.State
	gone   bool // its parts, which were in the store
}

func knownOf(s queue.Status) knownJob {
	return knownJob{s.Job.Digest, s.State, s.State == queue.Cancelled && SpecOf(s.Job).Remote}
}

// Run submits the items that next returns until it has no more, waits for their jobs to end, and
// returns their rows. Workers must serve the queue meanwhile. When ctx ends, Run returns its
// cause, and unfinished jobs stay in the queue.
func (s *Session) Run(ctx context.Context, next func(ctx context.Context) (batch.Item, bool)) ([]batch.Row, error) {
	s.mu.Lock()
	s.open, s.ended, s.jobs = map[string]*entry{}, map[string]*entry{}, map[string]queue.Job{}
	s.left = map[string]bool{}
	s.changed, s.off = make(chan struct{}, 1), false
	s.mu.Unlock()
	s.Log = cmp.Or(s.Log, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancelCause(ctx)
	err := s.run(ctx, next)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	stop(nil)
	s.beside.Wait()
	return s.rows, err
}

func (s *Session) run(ctx context.Context, next func(ctx context.Context) (batch.Item, bool)) error {
	live, watched := make(chan struct{}), make(chan error, 1)
	s.beside.Go(func() {
		watched <- s.Engine.Watch(ctx, func(st queue.Status) { s.follow(ctx, st) }, sync.OnceFunc(func() { close(live) }))
	})
	select {
	case <-live:
		return s.feed(ctx, next, watched)
	case err := <-watched:
		return err
	}
}

// feed submits items while there is room, and waits for the last to end.
func (s *Session) feed(ctx context.Context, next func(ctx context.Context) (batch.Item, bool), watched <-chan error) error {
	items := make(chan batch.Item)
	s.beside.Go(func() {
		defer close(items)
		for {
			item, ok := next(ctx)
			if !ok {
				return
			}
			select {
			case items <- item:
			case <-ctx.Done():
				return
			}
		}
	})
	for more := items; ; {
		n, off := s.running()
		if off {
			more = nil
		}
		if off && n == 0 {
			return ErrCancelled
		}
		from := more
		if s.full() {
			from = nil
		}
		if from == nil && n == 0 {
			return context.Cause(ctx)
		}
		select {
		case item, ok := <-from:
			if !ok {
				more = nil
				continue
			}
			if err := s.begin(ctx, item); err != nil {
				return err
			}
		case <-s.changed:
		case err := <-watched:
			if err == nil || ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Session) program() batch.Program {
	return batch.Program{Version: s.Version, RemakeOlder: s.RemakeOlder}
}

// running returns how many items have not ended, and whether the batch was cancelled.
func (s *Session) running() (n int, off bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open), s.off
}

// full reports whether no further item is submitted now: enough are in the queue, or all of those
// are paused.
func (s *Session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	paused := 0
	for _, e := range s.open {
		if e.paused {
			paused++
		}
	}
	return len(s.open) >= max(1, s.Window) || paused > 0 && paused == len(s.open)
}

// ErrCancelled is the error of a batch that was cancelled; see queue.WithBatch.
var ErrCancelled = errors.New("the batch was cancelled")

// cancelOpen cancels the open jobs of a batch that was cancelled.
func (s *Session) cancelOpen(ctx context.Context) {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, id := range open {
		if err := s.Engine.Cancel(ctx, id, queue.WithBatch); err != nil && !errors.Is(err, queue.ErrNoJob) {
			s.Log.Warn(err.Error())
		}
	}
}

// JobID returns the name of an output's job, unique in a queue.
func JobID(site, root string, item batch.Item) string { return IDOf(BatchID(site, root), item) }

// BatchID returns the name of the batch of a folder, as queue.BatchOf does of its jobs' IDs.
func BatchID(site, root string) string {
	sum := sha256.Sum256([]byte(site + "\x00" + root))
	return hex.EncodeToString(sum[:3])
}

// IDOf returns the name of an output's job in a batch.
func IDOf(batch string, item batch.Item) string { return item.ID() + "-" + batch }

func (s *Session) id(item batch.Item) string {
	if s.ID != nil {
		return s.ID(item)
	}
	return JobID(s.Site, s.Root, item)
}

// begin submits an item unless it is done. A file that cannot be read is checked again later: a
// mount may be away.
func (s *Session) begin(ctx context.Context, item batch.Item) error {
	f, err := batch.Check(s.Root, item, s.program())
	if err != nil && s.Retries > 0 && !netfile.IsLasting(err) {
		e := &entry{item: item}
		e.renewed.Store(true)
		s.mu.Lock()
		s.open[s.id(item)] = e
		s.mu.Unlock()
		s.beside.Go(func() { s.checkAgain(ctx, item, err) })
		return nil
	}
	return s.decide(ctx, item, f, err)
}

// checkAgain is begin for a file that could not be read.
func (s *Session) checkAgain(ctx context.Context, item batch.Item, err error) {
	var f batch.Finding
	for try := range s.Retries {
		s.Log.Warn(fmt.Sprintf("%s: %v: will check again", item.Output, err))
		if wake.Sleep(ctx, min(s.Pause<<try, 5*time.Minute)) != nil {
			return
		}
		if _, off := s.running(); off {
			break
		}
		if f, err = batch.Check(s.Root, item, s.program()); err == nil {
			break
		}
	}
	if err := s.decide(ctx, item, f, err); err != nil && ctx.Err() == nil {
		s.end(item, batch.Row{File: item.Source, Output: item.Output, State: RowFailed, Reason: err.Error()})
	}
}

// decide acts on the verdict of Check.
func (s *Session) decide(ctx context.Context, item batch.Item, f batch.Finding, err error) error {
	if f.Warning != nil {
		s.Log.Warn(f.Warning.Error())
	}
	refused := func(reason string) error {
		s.end(item, batch.Row{File: item.Source, Output: item.Output, Before: f.Source.Size, State: RowFailed, Reason: reason})
		return nil
	}
	switch {
	case err != nil:
		return refused(err.Error())
	case f.Verdict == batch.Done:
		s.discard(item)
		s.finish(ctx, item, *f.Record)
		s.end(item, rowOf(item, *f.Record, RowSkipped, "done before"))
		return nil
	case f.Verdict == batch.Interrupted:
		rec, err := batch.Resume(batch.Outputs{Root: s.Root, Uploads: ctx}, *f.Record, s.Overwrite)
		if err != nil {
			return refused(err.Error())
		}
		s.discard(item)
		s.finish(ctx, item, rec)
		s.end(item, rowOf(item, rec, RowDone, ""))
		return nil
	case (f.Verdict == batch.Foreign || f.Verdict == batch.Edited) && !s.Overwrite:
		return refused(f.Reason + ": -y replaces it")
	case f.Verdict == batch.Failed && !s.RetryFailed:
		return refused(f.Reason + " (before; --retry-failed tries it again)")
	}
	err = s.submit(ctx, &entry{item: item, found: f})
	if isOfJob(err) {
		s.mu.Lock()
		delete(s.jobs, s.id(item))
		s.mu.Unlock()
		return refused(err.Error())
	}
	return err
}

// isOfJob reports whether the queue has refused this job in particular.
func isOfJob(err error) bool {
	return errors.Is(err, queue.ErrRefused) || errors.Is(err, queue.ErrQuota)
}

// finish ends the job of a finished output, if an earlier run was killed before it did.
func (s *Session) finish(ctx context.Context, item batch.Item, rec batch.Record) {
	id := s.id(item)
	s.mu.Lock()
	left := s.left[id]
	s.mu.Unlock()
	if !left {
		return
	}
	b, err := json.Marshal(resultOfRecord(rec))
	if err == nil {
		err = s.Engine.Finish(ctx, id, b)
	}
	if err != nil {
		s.Log.Warn(fmt.Sprintf("%s is done, and its job stays in the queue: %v", item.Output, err))
	}
}

// discard removes the parts of a finished output: the join may have been killed before it did.
func (s *Session) discard(item batch.Item) {
	_ = os.RemoveAll(filepath.Join(workOf(s.Root), s.id(item)))
}

// submit queues a job, or continues one that is there.
func (s *Session) submit(ctx context.Context, e *entry) error {
	e.record = batch.Begin(e.item, e.found, s.Version, time.Now())
	about := Spec{Settings: s.Settings, Protocol: queue.Protocol, Item: e.item, Record: e.record}
	if about.Segment > 0 && (e.whole || s.Whole(e.item.Output, e.item.Args)) {
		about.Segment = 0
	}
	spec, err := json.Marshal(about)
	if err != nil {
		return err
	}
	id := s.id(e.item)
	digest := fmt.Sprintf("%s/%g/%t/%d/%d", e.found.Digest, about.Segment, s.Remote, s.Threads, e.again)
	site := SiteOf(s.Site)
	job := queue.Job{
		ID: id, Digest: digest, Title: e.item.Output, Site: site, Retries: s.Retries, Deaths: s.Deaths, Spec: spec,
		Priority: cmp.Or(e.item.Priority, s.Priority),
		First:    about.First(site),
	}
	switch st, err := s.Engine.Get(ctx, id); {
	case err == nil:
		job.Digest = redo(knownOf(st), digest)
	case !errors.Is(err, queue.ErrNoJob):
		return err
	}
	s.mu.Lock()
	s.open[id] = e
	s.jobs[id] = job
	s.mu.Unlock()
	if err := batch.WriteRecord(s.Root, e.record); err != nil {
		return err
	}
	if err := s.Engine.Submit(ctx, job, true); err != nil {
		return err
	}
	if _, off := s.running(); off { // just now, perhaps before this job was there to cancel
		return s.Engine.Cancel(ctx, id, queue.WithBatch)
	}
	return nil
}

// Job returns a job as last submitted, or zero.
func (s *Session) Job(id string) queue.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[id]
}

const redoMark = "/redo-"

// redo returns a new digest for a job that the queue has as done but whose output is gone, and
// for a cancelled one whose parts are no longer in the store. Otherwise the queue would skip the
// work.
func redo(k knownJob, digest string) string {
	before, _, marked := strings.Cut(k.digest, redoMark)
	switch {
	case before != digest:
	case marked && !k.state.Ended():
		return k.digest
	case k.state == queue.Done || k.gone:
		return digest + redoMark + strconv.FormatInt(time.Now().UnixNano(), 36)
	}
	return digest
}

// maxRenewals is how often a job is started over because its source changed or its parts are
// gone.
const maxRenewals = 5

func (s *Session) follow(ctx context.Context, st queue.Status) {
	if st.State == queue.Removed {
		return
	}
	s.mu.Lock()
	s.reopen(st)
	e := s.open[st.Job.ID]
	if delete(s.left, st.Job.ID); e == nil && !st.State.Ended() {
		s.left[st.Job.ID] = true
	}
	if e != nil && e.paused != st.Paused {
		e.paused = st.Paused
		wake.Up(s.changed)
	}
	if e != nil && st.State == queue.Cancelled && st.Reason == queue.WithBatch && !s.off {
		s.off = true
		s.beside.Go(func() { s.cancelOpen(ctx) }) // it waits, and the watch must not
	}
	s.mu.Unlock()
	renews := e != nil && !e.renewed.Load() && st.State == queue.Failed && e.again < maxRenewals && mayRenew(st.Failure)
	if renews {
		e.renewed.Store(true)
	}
	if s.Changed != nil {
		s.Changed(s.seen(e, st))
	}
	if renews {
		s.beside.Go(func() { s.renew(ctx, e, st) }) // it waits, and the watch must not
		return
	}
	if e != nil && st.State.Ended() && !e.renewed.Load() {
		s.close(e, st)
	}
}

// seen corrects a status if the output is missing, or if the job is being started over: its failure
// is no end.
func (s *Session) seen(e *entry, st queue.Status) queue.Status {
	switch {
	case e != nil && e.renewed.Load() && st.State.HasFailed():
		st.State, st.Reason, st.Failure, st.Ended = queue.Queued, "", queue.Failure{}, time.Time{}
		return st
	case e == nil || st.State != queue.Done || e.renewed.Load():
		return st
	}
	if err := Missing(s.Root, e.item); err != nil {
		st.State, st.Reason, st.Failure, st.Result = queue.Failed, err.Error(), queue.Failure{}, nil
	}
	return st
}

// reopen moves a retried job from s.ended back to s.open. s.mu is held.
func (s *Session) reopen(st queue.Status) {
	e := s.ended[st.Job.ID]
	if e == nil || st.State.Ended() || s.open[st.Job.ID] != nil {
		return
	}
	delete(s.ended, st.Job.ID)
	s.open[st.Job.ID] = e
	s.rows = slices.DeleteFunc(s.rows, func(r batch.Row) bool { return r.Output == e.item.Output })
}

// Address returns the source of an open job with its query.
func (s *Session) Address(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.open[id]; e != nil {
		return e.item.Address()
	}
	return ""
}

func (s *Session) close(e *entry, st queue.Status) {
	if st.State != queue.Done {
		removeCopies(s.Root, st.Job.ID)
	}
	s.mu.Lock()
	if st.State == queue.Done {
		delete(s.jobs, st.Job.ID)
	} else {
		s.ended[st.Job.ID] = e
	}
	s.mu.Unlock()
	s.end(e.item, s.closed(e, st))
}

// closed returns the row of an ended job, and records its failure.
func (s *Session) closed(e *entry, st queue.Status) batch.Row {
	row := batch.Row{
		File: e.item.Source, Output: e.item.Output, Before: e.found.Source.Size, State: RowDone, Attempts: st.Retried + 1,
	}
	if st.State == queue.Done {
		var res Result
		if err := json.Unmarshal(st.Result, &res); err != nil {
			s.Log.Warn(e.item.Output, "error", err)
		}
		row.Outcome, row.After = res.In(res.Seconds), res.Size
		if row.Reason = res.Faults(); row.Reason != "" {
			row.State = RowDamaged
		}
		if err := Missing(s.Root, e.item); err != nil {
			row.State, row.Damaged, row.Reason, row.After = RowFailed, false, err.Error(), 0
		}
		return row
	}
	row.State, row.Reason = RowFailed, ownReason(st)
	e.record.State, e.record.Reason, e.record.Ended = batch.RecordFailed, row.Reason, st.Ended
	switch st.State {
	case queue.Cancelled:
		row.State, e.record.State = RowCancelled, batch.RecordCancelled
	case queue.Quarantined:
		e.record.State = batch.RecordQuarantined
		row.Reason = "quarantined: " + row.Reason
		e.record.Reason = row.Reason
	case queue.Failed:
		if st.Failure.Code == queue.CodeMachine { // the same command tries again
			e.record.State = batch.RecordRunning
		}
	}
	e.record.Attempts = row.Attempts
	if err := batch.WriteRecord(s.Root, e.record); err != nil {
		s.Log.Warn(err.Error())
	}
	return row
}

// Missing returns an error if a finished output is not there.
func Missing(root string, item batch.Item) error {
	if item.Store != "" { // which has confirmed that it was there
		return nil
	}
	_, err := os.Stat(item.OutputPath(root))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it was done, and its output is gone")
	}
	return nil
}

// renew starts a job over because its source changed, or its parts are gone.
func (s *Session) renew(ctx context.Context, e *entry, st queue.Status) {
	e.again++
	e.whole = e.whole || st.Failure.Code == codeNotInParts
	s.Log.Warn(fmt.Sprintf("%s: %s: starting over", e.item.Output, st.Explain()))
	err := settled(ctx, e.item.Address())
	if err == nil {
		e.found, err = batch.Check(s.Root, e.item, s.program())
	}
	e.renewed.Store(false)
	if err == nil {
		err = s.submit(ctx, e)
	}
	if err != nil && ctx.Err() == nil {
		st.Reason, st.Failure = err.Error(), queue.Failure{}
		if s.Changed != nil {
			s.Changed(st)
		}
		s.close(e, st)
	}
}

// settled waits until a file has stopped changing.
func settled(ctx context.Context, name string) error {
	was, err := batch.FingerprintOf(name)
	for err == nil || errors.Is(err, batch.ErrChanging) {
		if err := wake.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
		var now batch.Fingerprint
		if now, err = batch.FingerprintOf(name); err == nil && now.Equal(was) {
			return nil
		}
		was = now
	}
	return err
}

// end adds a row, and only then counts the item as ended: Run returns the rows after the last
// one.
func (s *Session) end(item batch.Item, row batch.Row) {
	if s.Ended != nil {
		s.Ended(row)
	}
	s.mu.Lock()
	s.rows = append(s.rows, row)
	delete(s.open, s.id(item))
	s.mu.Unlock()
	wake.Up(s.changed)
}

func rowOf(item batch.Item, r batch.Record, state string, reason string) batch.Row {
	res := resultOfRecord(r)
	if faults := r.Faults(); faults != "" {
		reason = strings.TrimPrefix(reason+"; "+faults, "; ")
	}
	return batch.Row{
		File: item.Source, Output: item.Output, State: state, Reason: reason, Outcome: r.Outcome, Attempts: r.Attempts,
		Before: res.InSize, After: res.Size,
	}
}
