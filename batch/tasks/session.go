package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"vidfilter/batch"
	"vidfilter/queue"
)

// States of a batch.Row.
const (
	RowDone      = "done"
	RowSkipped   = "skipped" // done in an earlier run
	RowDamaged   = "damaged" // done, but the source is damaged
	RowFailed    = "failed"
	RowCancelled = "cancelled"
)

// Session puts the items of a batch in the queue, a few at a time, and follows them to their ends.
type Session struct {
	Engine      queue.Engine
	Root        string // of the outputs, absolute
	Site        string // who reaches them
	Version     string // of the program
	Window      int    // jobs in the queue at a time: those that end are not to wait for all that begin
	Retries     int
	Pause       time.Duration // before a file that could not be looked at is looked at again; doubles
	Segment     float64       // seconds
	Threads     int           // of a part's encoder
	Remote      bool          // parts are sent through the queue
	Shared      string        // folder that all workers see; "" for none
	Overwrite   bool
	RetryFailed bool

	Changed func(queue.Status) // hears of every change; may be nil
	Ended   func(batch.Row)    // hears of every item that is over, also of those that were before; may be nil
	Warn    func(string, ...any)

	mu      sync.Mutex
	open    map[string]*entry // by job
	over    map[string]*entry // those that failed or were cancelled: somebody may put them in the queue again
	known   map[string]queue.Status
	changed chan struct{} // somebody ended
	rows    []batch.Row
}

// IsDamaged says whether an output is there that holds only what could be read of its source, in this run or before.
func IsDamaged(r batch.Row) bool {
	return r.State == RowDamaged || r.State == RowSkipped && strings.HasSuffix(r.Reason, damagedReason)
}

// entry is an item in the queue.
type entry struct {
	item    batch.Item
	found   batch.Finding
	record  batch.Record
	again   int         // times that it was begun anew
	whole   bool        // it is not to be cut
	renewed atomic.Bool // it is being begun anew: what is heard of the old one counts for nothing
}

// Run does the items that come from next until it has no more, and returns what became of each. The queue must be worked on by
// somebody. When ctx ends, so does Run, and what is not done stays in the queue.
func (s *Session) Run(ctx context.Context, next func(ctx context.Context) (batch.Item, bool)) ([]batch.Row, error) {
	s.open, s.over, s.known, s.changed = map[string]*entry{}, map[string]*entry{}, map[string]queue.Status{}, make(chan struct{}, 1)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	live, watched := make(chan struct{}), make(chan error, 1)
	go func() {
		watched <- s.Engine.Watch(ctx, func(st queue.Status) { s.follow(ctx, st) }, sync.OnceFunc(func() { close(live) }))
	}()
	select {
	case <-live:
	case err := <-watched:
		return nil, err
	}
	err := s.feed(ctx, next, watched)
	stop(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows, err
}

// feed submits while there is room, and waits for the rest.
func (s *Session) feed(ctx context.Context, next func(ctx context.Context) (batch.Item, bool), watched <-chan error) error {
	items := make(chan batch.Item)
	go func() {
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
	}()
	for more := items; ; {
		n := s.running()
		from := more
		if n >= max(1, s.Window) {
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
			if err == nil {
				err = context.Cause(ctx)
			}
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Session) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// JobID names the job that makes an output, among all of a queue.
func JobID(site, root string, item batch.Item) string { return item.ID() + idEnding(site, root) }

func idEnding(site, root string) string {
	sum := sha256.Sum256([]byte(site + "\x00" + root))
	return "-" + hex.EncodeToString(sum[:3])
}

// begin puts an item in the queue, unless it is over already. What cannot be looked at may come back: a mount that is away.
func (s *Session) begin(ctx context.Context, item batch.Item) error {
	f, err := batch.Check(s.Root, item, s.Version)
	if err != nil && s.Retries > 0 {
		e := &entry{item: item}
		e.renewed.Store(true)
		s.mu.Lock()
		s.open[JobID(s.Site, s.Root, item)] = e
		s.mu.Unlock()
		go s.lookAgain(ctx, item, err)
		return nil
	}
	return s.decide(ctx, item, f, err)
}

// lookAgain is begin for a file that could not be looked at.
func (s *Session) lookAgain(ctx context.Context, item batch.Item, err error) {
	var f batch.Finding
	for try := range s.Retries {
		s.Warn("%s: %v: looking again later", item.Output, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(s.Pause<<try, 5*time.Minute)):
		}
		if f, err = batch.Check(s.Root, item, s.Version); err == nil {
			break
		}
	}
	if err := s.decide(ctx, item, f, err); err != nil && ctx.Err() == nil {
		s.end(item, batch.Row{File: item.Source, Output: item.Output, State: RowFailed, Reason: err.Error()})
	}
}

// decide goes by what was found of an item.
func (s *Session) decide(ctx context.Context, item batch.Item, f batch.Finding, err error) error {
	if f.Warning != nil {
		s.Warn("%v", f.Warning)
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
		s.end(item, rowOf(item, *f.Record, RowSkipped, "done before"))
		return nil
	case f.Verdict == batch.Interrupted:
		rec, err := batch.Resume(s.Root, *f.Record, s.Overwrite)
		if err != nil {
			return refused(err.Error())
		}
		s.discard(item)
		s.end(item, rowOf(item, rec, RowDone, ""))
		return nil
	case (f.Verdict == batch.Foreign || f.Verdict == batch.Edited) && !s.Overwrite:
		return refused(f.Reason + ": -y replaces it")
	case f.Verdict == batch.Failed && !s.RetryFailed:
		return refused(f.Reason + " (before; --retry-failed tries it again)")
	}
	return s.submit(ctx, &entry{item: item, found: f})
}

// discard removes the parts of an output that is done: who joined them may have been killed before.
func (s *Session) discard(item batch.Item) {
	_ = os.RemoveAll(filepath.Join(workOf(s.Root), JobID(s.Site, s.Root, item)))
}

// submit puts a job in the queue, or takes one up that is there.
func (s *Session) submit(ctx context.Context, e *entry) error {
	e.record = batch.Begin(e.item, e.found, s.Version, time.Now())
	about := Spec{
		Item: e.item, Root: s.Root, Record: e.record, Segment: s.Segment, Remote: s.Remote, Shared: s.Shared, Overwrite: s.Overwrite,
		Threads: s.Threads,
	}
	if e.whole {
		about.Segment = 0
	}
	spec, err := json.Marshal(about)
	if err != nil {
		return err
	}
	id := JobID(s.Site, s.Root, e.item)
	digest := fmt.Sprintf("%s/%g/%t/%d/%d", e.found.Digest, about.Segment, s.Remote, s.Threads, e.again)
	s.mu.Lock()
	s.open[id] = e
	digest = redo(s.known[id], digest)
	s.mu.Unlock()
	if err := batch.WriteRecord(s.Root, e.record); err != nil {
		return err
	}
	site := SiteOf(s.Site, s.Version)
	return s.Engine.Submit(ctx, queue.Job{
		ID: id, Digest: digest, Title: e.item.Output, Site: site, Retries: s.Retries, Spec: spec,
		First: about.First(site),
	}, true)
}

const redoMark = "/redo-"

// redo gives a job a digest of its own whose output was there and is gone: the queue takes it for done. So it does with one that was
// cancelled and whose parts were in the store, where they no longer are.
func redo(known queue.Status, digest string) string {
	if before, _, ok := strings.Cut(known.Job.Digest, redoMark); ok && before == digest && !known.State.Ended() {
		return known.Job.Digest
	}
	anew := known.State == queue.Done || known.State == queue.Cancelled && remote(known.Job)
	if before, _, _ := strings.Cut(known.Job.Digest, redoMark); before == digest && anew {
		return digest + redoMark + strconv.FormatInt(time.Now().UnixNano(), 36)
	}
	return digest
}

// mostAnew is how often a job is begun anew because its source changed or its parts went away.
const mostAnew = 5

// follow hears of a job's change.
func (s *Session) follow(ctx context.Context, st queue.Status) {
	s.mu.Lock()
	s.known[st.Job.ID] = st
	s.reopen(st)
	e := s.open[st.Job.ID]
	s.mu.Unlock()
	if s.Changed != nil {
		s.Changed(st)
	}
	if e == nil || !st.State.Ended() || e.renewed.Load() {
		return
	}
	if st.State == queue.Failed && e.again < mostAnew && mayRenew(st.Reason) {
		e.renewed.Store(true)
		go s.renew(ctx, e, st) // it waits, and the queue is not to
		return
	}
	s.close(e, st)
}

// reopen takes back that a job is over, where somebody has put it in the queue again. s.mu is held.
func (s *Session) reopen(st queue.Status) {
	e := s.over[st.Job.ID]
	if e == nil || st.State.Ended() || s.open[st.Job.ID] != nil {
		return
	}
	delete(s.over, st.Job.ID)
	s.open[st.Job.ID] = e
	s.rows = slices.DeleteFunc(s.rows, func(r batch.Row) bool { return r.Output == e.item.Output })
}

// close is for a job that is over.
func (s *Session) close(e *entry, st queue.Status) {
	if st.State != queue.Done {
		s.mu.Lock()
		s.over[st.Job.ID] = e
		s.mu.Unlock()
	}
	s.end(e.item, s.closed(e, st))
}

// closed notes the end of a job in its record, where the last task has not, and returns its row.
func (s *Session) closed(e *entry, st queue.Status) batch.Row {
	row := batch.Row{
		File: e.item.Source, Output: e.item.Output, Before: e.found.Source.Size, State: RowDone, Attempts: st.Retried + 1,
	}
	if st.State == queue.Done {
		var res Result
		if err := json.Unmarshal(st.Result, &res); err != nil {
			s.Warn("%s: %v", e.item.Output, err)
		}
		row.Frames, row.Seconds, row.After, row.FPS = res.Frames, res.Seconds, res.Size, res.rate()
		if res.Damaged {
			row.State, row.Reason = RowDamaged, damagedReason
		}
		return row
	}
	row.State, row.Reason = RowFailed, strings.TrimPrefix(strings.TrimPrefix(st.Reason, "task whole: "), "task plan: ")
	e.record.State, e.record.Reason, e.record.Ended = batch.RecordFailed, row.Reason, st.Ended
	if st.State == queue.Cancelled {
		row.State, e.record.State = RowCancelled, batch.RecordCancelled
	}
	e.record.Attempts = row.Attempts
	if err := batch.WriteRecord(s.Root, e.record); err != nil {
		s.Warn("%v", err)
	}
	return row
}

// mayRenew says whether a failure says nothing against the job.
func mayRenew(reason string) bool {
	for _, err := range []error{batch.ErrSourceChanged, ErrGone, ErrParts} {
		if strings.Contains(reason, err.Error()) {
			return true
		}
	}
	return false
}

// renew begins a job anew whose source changed, or whose parts are gone.
func (s *Session) renew(ctx context.Context, e *entry, st queue.Status) {
	e.again++
	e.whole = e.whole || strings.Contains(st.Reason, ErrParts.Error())
	s.Warn("%s: %s: it is begun anew", e.item.Output, st.Reason)
	err := settled(ctx, e.item.Source)
	if err == nil {
		e.found, err = batch.Check(s.Root, e.item, s.Version)
	}
	e.renewed.Store(false)
	if err == nil {
		err = s.submit(ctx, e)
	}
	if err != nil && ctx.Err() == nil {
		st.Reason = err.Error()
		s.close(e, st)
	}
}

// settled waits until a file has stopped changing.
func settled(ctx context.Context, name string) error {
	was, err := batch.FingerprintOf(name)
	for err == nil || errors.Is(err, batch.ErrChanging) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Second):
		}
		var now batch.Fingerprint
		if now, err = batch.FingerprintOf(name); err == nil && now.Equal(was) {
			return nil
		}
		was = now
	}
	return err
}

// end notes what became of an item, and only then lets it be over: who waits for the last one takes the rows.
func (s *Session) end(item batch.Item, row batch.Row) {
	if s.Ended != nil {
		s.Ended(row)
	}
	s.mu.Lock()
	s.rows = append(s.rows, row)
	delete(s.open, JobID(s.Site, s.Root, item))
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func rowOf(item batch.Item, r batch.Record, state string, reason string) batch.Row {
	res := resultOfRecord(r)
	if res.Damaged {
		reason = strings.TrimPrefix(reason+"; "+damagedReason, "; ")
	}
	return batch.Row{
		File: item.Source, Output: item.Output, Frames: res.Frames, Seconds: res.Seconds, FPS: res.rate(), Before: res.InSize, After: res.Size,
		State: state, Reason: reason, Attempts: r.Attempts,
	}
}

// Retry returns the job of a status as it is put in the queue again after it failed or was cancelled.
func Retry(s queue.Status) queue.Job {
	j := s.Job
	if s.State == queue.Cancelled {
		digest, _, _ := strings.Cut(j.Digest, redoMark)
		j.Digest = redo(s, digest)
	}
	return j
}

func remote(j queue.Job) bool {
	var s Spec
	return json.Unmarshal(j.Spec, &s) == nil && s.Remote
}
