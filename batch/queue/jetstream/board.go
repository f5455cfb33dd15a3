package jetstream

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// board is the head's copy of the records and of the sizes of the files, so that requests do not
// load the streams. It also counts the jobs and files of each credential. Of jobs that ended long
// ago it has a short note: their records are read from the stream when somebody lists them.
type board struct {
	e *Engine

	reading sync.Mutex // by one goroutine at a time
	records recordReader
	connect uint64 // number of the connection
	wake    chan struct{}

	mu    sync.Mutex
	jobs  map[string]*boardRecord // by ID
	order []*boardRecord          // by revision, the old ones of each key among them
	stale int                     // of them
	ended []*boardRecord          // with records, the earliest first; some are stale
	users map[string]*usage
	sizes map[string]int64 // of files, by name
}

// boardRecord is a record on the board, or a note of it without Value.
type boardRecord struct {
	storedRecord
	summary
	size    int64 // of the record
	written time.Time
	stale   bool // there is a later one
	files   int
	bytes   int64  // of its files
	shown   []byte // to others than its owner; nil until requested
}

// summary is the part of every job's record that the head keeps.
type summary struct {
	user        string
	site, first string // of the job and of its first task
	state       queue.State
	until       time.Time // its end
	old         bool      // epochs of it may still have results
}

// summaryOf shares its strings with those of other jobs.
func summaryOf(r *record) summary {
	share := func(s string) string { return unique.Make(s).Value() }
	return summary{
		user: share(r.Job.User), site: share(r.Job.Site), first: share(r.Job.First.Site),
		state: queue.State(share(string(r.State))), until: r.Ended, old: len(r.Old) > 0,
	}
}

func (p *boardRecord) live() bool { return !p.Gone && !p.state.Ended() }

// usage counts the jobs of a credential and their files.
type usage struct {
	jobs    int
	records int64 // bytes
	live    int   // jobs that have not ended
	lively  int64 // bytes of their records
	files   int
	bytes   int64          // of files
	sites   map[string]int // jobs that have not ended, by site
}

func newBoard(e *Engine) *board {
	b := &board{e: e, wake: make(chan struct{}, 1), jobs: map[string]*boardRecord{}, users: map[string]*usage{}, sizes: map[string]int64{}}
	b.records = recordReader{e: e, f: b.put}
	return b
}

// open reads everything. Then follow keeps it up to date.
func (b *board) open(ctx context.Context) error {
	b.e.fileChanged = b.file
	return b.restart(ctx)
}

// restart reads everything anew: a server whose disk was full may have lost some of it.
func (b *board) restart(ctx context.Context) error {
	b.mu.Lock()
	b.records.last, b.order, b.stale, b.ended = 0, nil, 0, nil
	b.jobs, b.users, b.sizes = map[string]*boardRecord{}, map[string]*usage{}, map[string]int64{}
	b.mu.Unlock()
	return errors.Join(b.records.all(ctx), blobs{b.e}.each(ctx, func(o jetstream.ObjectInfo) { b.file(o.Name, int64(o.Size)) }))
}

// boardEvery is how often the board is read although no event came, since events may be lost.
const boardEvery = time.Second

func (b *board) follow(ctx context.Context) error {
	s, err := b.e.nc.Subscribe(b.e.names.events(eventChange), func(*nats.Msg) { wake.Up(b.wake) })
	if err != nil {
		return err
	}
	go func() {
		defer s.Unsubscribe()
		for ctx.Err() == nil {
			try, cancel := context.WithTimeout(ctx, answerWithin)
			_ = b.read(try) // the next time, if the server restarts
			cancel()
			select {
			case <-b.wake:
			case <-time.After(boardEvery):
			case <-ctx.Done():
			}
		}
	}()
	return nil
}

// read takes the records that have changed.
func (b *board) read(ctx context.Context) error {
	b.reading.Lock()
	defer b.reading.Unlock()
	if n := b.e.nc.Stats().Reconnects; n != b.connect {
		if err := b.restart(ctx); err != nil {
			return err
		}
		b.connect = n
	}
	return wrapf(b.records.news(ctx), "queue: reading jobs")
}

func (b *board) put(r storedRecord, at time.Time) {
	p := &boardRecord{storedRecord: r, size: int64(len(r.Value)), written: at}
	p.Value = bytes.Clone(r.Value) // without the buffer that it came in
	if !r.Gone {
		p.summary = summaryOf(decodeRecord(r.Key, r.Value))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.jobs[r.Key]; old != nil {
		b.count(old, -1)
		old.stale = true
		old.clear()
		b.stale++
		p.files, p.bytes = old.files, old.bytes
	}
	b.jobs[r.Key] = p
	b.order = append(b.order, p)
	b.count(p, 1)
	b.shorten(p)
	if b.stale > 64 && b.stale > len(b.order)/2 {
		b.compact()
	}
}

// wholeRecords is how many jobs that have ended have their records on the board, the latest: more
// than a list shows.
const wholeRecords = 1500

// shorten makes room for the record of a job that has ended.
func (b *board) shorten(p *boardRecord) {
	if p.Gone || p.live() {
		return
	}
	if b.ended = append(b.ended, p); len(b.ended) > wholeRecords {
		b.ended[0].clear()
		b.ended[0] = nil
		b.ended = b.ended[1:]
	}
}

func (p *boardRecord) clear() { p.Value, p.shown = nil, nil }

// goneFor is how long clients that have lost their connection may hear that a job was removed.
const goneFor = time.Hour

func (b *board) compact() {
	b.order = slices.DeleteFunc(b.order, func(p *boardRecord) bool {
		old := p.Gone && p.files == 0 && time.Since(p.written) > goneFor
		if old && !p.stale {
			delete(b.jobs, p.Key)
		}
		return old || p.stale
	})
	b.stale = 0
}

// count adds a record to the totals of its credential, or takes it away. b.mu is held.
func (b *board) count(p *boardRecord, sign int) {
	name := p.user
	u := b.users[name]
	if u == nil {
		u = &usage{sites: map[string]int{}}
		b.users[name] = u
	}
	if !p.Gone {
		u.jobs += sign
		u.records += int64(sign) * p.size
	}
	if p.live() {
		u.live += sign
		u.lively += int64(sign) * p.size
	}
	u.files += sign * p.files
	u.bytes += int64(sign) * p.bytes
	for _, site := range p.sites() {
		if u.sites[site] += sign; u.sites[site] <= 0 {
			delete(u.sites, site)
		}
	}
	if u.jobs == 0 && u.files == 0 && len(u.sites) == 0 {
		delete(b.users, name)
	}
}

// sites returns the sites whose workers the job needs, if it has not ended.
func (p *boardRecord) sites() []string {
	if !p.live() {
		return nil
	}
	return slices.Compact([]string{p.site, p.first})
}

// file notes the size of a file, or with -1 that it is gone.
func (b *board) file(name string, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, there := b.sizes[name]
	if !there && size < 0 {
		return
	}
	id, _, _ := strings.Cut(name, "/")
	p := b.jobs[id]
	if p == nil { // its record has not been read yet
		p = &boardRecord{storedRecord: storedRecord{Key: id, Gone: true}}
		b.jobs[id] = p
	}
	b.count(p, -1)
	defer func() { b.count(p, 1) }()
	if there {
		p.files--
		p.bytes -= before
	}
	if delete(b.sizes, name); size >= 0 {
		b.sizes[name] = size
		p.files++
		p.bytes += size
	}
}

// usage returns what a credential has.
func (b *board) usage(name string) usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.users[name]
	if u == nil {
		return usage{}
	}
	return u.clone()
}

func (u usage) clone() usage {
	u.sites = maps.Clone(u.sites)
	return u
}

// job returns the bytes of a job's files, and its credential.
func (b *board) job(id string) (bytes int64, user string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.jobs[id]
	if p == nil {
		return 0, ""
	}
	return p.bytes, p.user
}

// all returns what each credential has.
func (b *board) all() map[string]usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[string]usage{}
	for name, u := range b.users {
		found[name] = u.clone()
	}
	return found
}

// usersAt returns the credentials with jobs of a site, or of any, that have not ended.
func (b *board) usersAt(site string, any bool) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, u := range b.users {
		if any && len(u.sites) > 0 || u.sites[site] > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sites returns the sites of jobs that have not ended, by credential.
func (b *board) sites() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string][]string{}
	for name, u := range b.users {
		if len(u.sites) > 0 {
			all[name] = slices.Collect(maps.Keys(u.sites))
		}
	}
	return all
}

// files returns the names of a job's files.
func (b *board) files(job string) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.jobs[job]; p == nil || p.files == 0 {
		return nil
	}
	for name := range b.sizes {
		if strings.HasPrefix(name, job+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// bytes returns the bytes of the files of each job.
func (b *board) bytes() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]int64{}
	for id, p := range b.jobs {
		if p.bytes > 0 {
			all[id] = p.bytes
		}
	}
	return all
}

// surplus returns those jobs of a credential to remove so that at most jobs and bytes of records
// are left: they have ended, the earliest first.
func (b *board) surplus(name string, jobs int, bytes int64) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.users[name]
	if u == nil || u.jobs <= jobs && u.records <= bytes {
		return nil
	}
	var ended []*boardRecord
	for _, p := range b.jobs {
		if !p.Gone && p.user == name && !p.live() {
			ended = append(ended, p)
		}
	}
	slices.SortFunc(ended, func(p, q *boardRecord) int { return p.until.Compare(q.until) })
	n, size := u.jobs, u.records
	for _, p := range ended {
		// some more, since it takes a while to find them
		if n <= jobs-jobs/100 && size <= bytes-bytes/100 {
			break
		}
		ids = append(ids, p.Key)
		n--
		size -= p.size
	}
	return ids
}

// older returns the jobs that have not ended nor changed since a time, and those that ended before.
func (b *board) older(than time.Time) (idle []*boardRecord, ended []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, p := range b.jobs {
		switch {
		case p.Gone || p.written.After(than):
		case p.live():
			idle = append(idle, p)
		default:
			ended = append(ended, id)
		}
	}
	return idle, ended
}

// unsettled returns the jobs that have not ended, or have leftovers of earlier epochs.
func (b *board) unsettled() (all []storedRecord) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.jobs {
		if p.live() || p.old {
			all = append(all, p.storedRecord)
		}
	}
	return all
}
