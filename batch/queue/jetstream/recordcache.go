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

// recordCache is the server's copy of the records and of the sizes of the files, so that requests
// do not load the streams. It also counts the jobs and files of each credential. Of jobs that ended
// long ago it has a short note: their records are read from the stream when somebody lists them.
type recordCache struct {
	e *Engine

	reading sync.Mutex // by one goroutine at a time
	records recordReader
	connect uint64 // number of the connection
	wake    chan struct{}

	mu    sync.Mutex
	jobs  map[string]*cachedRecord // by ID
	order []*cachedRecord          // by revision, the old ones of each key among them
	stale int                      // of them
	ended []*cachedRecord          // with records, the earliest first; some are stale
	users map[string]*usage
	sizes map[string]int64 // of files, by name
}

// cachedRecord is a record in the cache, or a note of it without Value.
type cachedRecord struct {
	storedRecord
	summary
	size    int64 // of the record
	written time.Time
	stale   bool // there is a later one
	files   int
	bytes   int64  // of its files
	shown   []byte // to others than its owner; nil until requested
}

// summary is the part of every job's record that the server keeps.
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

func (p *cachedRecord) live() bool { return !p.Gone && !p.state.Ended() }

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

func newRecordCache(e *Engine) *recordCache {
	c := &recordCache{e: e, wake: make(chan struct{}, 1), jobs: map[string]*cachedRecord{}, users: map[string]*usage{}, sizes: map[string]int64{}}
	c.records = recordReader{e: e, f: c.put}
	return c
}

// open reads everything. Then follow keeps it up to date.
func (c *recordCache) open(ctx context.Context) error {
	c.e.fileChanged = c.file
	return c.restart(ctx)
}

// restart reads everything anew: a server whose disk was full may have lost some of it.
func (c *recordCache) restart(ctx context.Context) error {
	c.mu.Lock()
	c.records.last, c.order, c.stale, c.ended = 0, nil, 0, nil
	c.jobs, c.users, c.sizes = map[string]*cachedRecord{}, map[string]*usage{}, map[string]int64{}
	c.mu.Unlock()
	return errors.Join(c.records.all(ctx), blobs{c.e}.each(ctx, func(o jetstream.ObjectInfo) { c.file(o.Name, int64(o.Size)) }))
}

// cacheEvery is how often the cache is read although no event came, since events may be lost.
const cacheEvery = time.Second

func (c *recordCache) follow(ctx context.Context) error {
	s, err := c.e.nc.Subscribe(c.e.names.events(eventChange), func(*nats.Msg) { wake.Up(c.wake) })
	if err != nil {
		return err
	}
	go func() {
		defer s.Unsubscribe()
		for ctx.Err() == nil {
			try, cancel := context.WithTimeout(ctx, answerWithin)
			_ = c.read(try) // the next time, if the server restarts
			cancel()
			select {
			case <-c.wake:
			case <-time.After(cacheEvery):
			case <-ctx.Done():
			}
		}
	}()
	return nil
}

func (c *recordCache) read(ctx context.Context) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	if n := c.e.nc.Stats().Reconnects; n != c.connect {
		if err := c.restart(ctx); err != nil {
			return err
		}
		c.connect = n
	}
	return wrapf(c.records.news(ctx), "queue: reading jobs")
}

func (c *recordCache) put(r storedRecord, at time.Time) {
	p := &cachedRecord{storedRecord: r, size: int64(len(r.Value)), written: at}
	p.Value = bytes.Clone(r.Value) // without the buffer that it came in
	if !r.Gone {
		p.summary = summaryOf(decodeRecord(r.Key, r.Value))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.jobs[r.Key]; old != nil {
		c.count(old, -1)
		old.stale = true
		old.clear()
		c.stale++
		p.files, p.bytes = old.files, old.bytes
	}
	c.jobs[r.Key] = p
	c.order = append(c.order, p)
	c.count(p, 1)
	c.shorten(p)
	if c.stale > 64 && c.stale > len(c.order)/2 {
		c.compact()
	}
}

// wholeRecords is how many jobs that have ended have their records in the cache, the latest: more
// than a list shows.
const wholeRecords = 1500

// shorten makes room for the record of a job that has ended.
func (c *recordCache) shorten(p *cachedRecord) {
	if p.Gone || p.live() {
		return
	}
	if c.ended = append(c.ended, p); len(c.ended) > wholeRecords {
		c.ended[0].clear()
		c.ended[0] = nil
		c.ended = c.ended[1:]
	}
}

func (p *cachedRecord) clear() { p.Value, p.shown = nil, nil }

// goneFor is how long clients that have lost their connection may hear that a job was removed.
const goneFor = time.Hour

func (c *recordCache) compact() {
	c.order = slices.DeleteFunc(c.order, func(p *cachedRecord) bool {
		old := p.Gone && p.files == 0 && time.Since(p.written) > goneFor
		if old && !p.stale {
			delete(c.jobs, p.Key)
		}
		return old || p.stale
	})
	c.stale = 0
}

// count adds a record to the totals of its credential, or takes it away. c.mu is held.
func (c *recordCache) count(p *cachedRecord, sign int) {
	name := p.user
	u := c.users[name]
	if u == nil {
		u = &usage{sites: map[string]int{}}
		c.users[name] = u
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
		delete(c.users, name)
	}
}

// sites returns the sites whose workers the job needs, if it has not ended.
func (p *cachedRecord) sites() []string {
	if !p.live() {
		return nil
	}
	return slices.Compact([]string{p.site, p.first})
}

// file notes the size of a file, or with -1 that it is gone.
func (c *recordCache) file(name string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, there := c.sizes[name]
	if !there && size < 0 {
		return
	}
	id, _, _ := strings.Cut(name, "/")
	p := c.jobs[id]
	if p == nil { // its record has not been read yet
		p = &cachedRecord{storedRecord: storedRecord{Key: id, Gone: true}}
		c.jobs[id] = p
	}
	c.count(p, -1)
	defer func() { c.count(p, 1) }()
	if there {
		p.files--
		p.bytes -= before
	}
	if delete(c.sizes, name); size >= 0 {
		c.sizes[name] = size
		p.files++
		p.bytes += size
	}
}

func (c *recordCache) usage(name string) usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.users[name]
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
func (c *recordCache) job(id string) (bytes int64, user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.jobs[id]
	if p == nil {
		return 0, ""
	}
	return p.bytes, p.user
}

func (c *recordCache) all() map[string]usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]usage{}
	for name, u := range c.users {
		found[name] = u.clone()
	}
	return found
}

// usersAt returns the credentials with jobs of a site, or of any, that have not ended.
func (c *recordCache) usersAt(site string, any bool) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, u := range c.users {
		if any && len(u.sites) > 0 || u.sites[site] > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sites returns the sites of jobs that have not ended, by credential.
func (c *recordCache) sites() map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]string{}
	for name, u := range c.users {
		if len(u.sites) > 0 {
			all[name] = slices.Collect(maps.Keys(u.sites))
		}
	}
	return all
}

func (c *recordCache) files(job string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.jobs[job]; p == nil || p.files == 0 {
		return nil
	}
	for name := range c.sizes {
		if strings.HasPrefix(name, job+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// bytes returns the bytes of the files of each job.
func (c *recordCache) bytes() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]int64{}
	for id, p := range c.jobs {
		if p.bytes > 0 {
			all[id] = p.bytes
		}
	}
	return all
}

// surplus returns those jobs of a credential to remove so that at most jobs and bytes of records
// are left: they have ended, the earliest first.
func (c *recordCache) surplus(name string, jobs int, bytes int64) (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.users[name]
	if u == nil || u.jobs <= jobs && u.records <= bytes {
		return nil
	}
	var ended []*cachedRecord
	for _, p := range c.jobs {
		if !p.Gone && p.user == name && !p.live() {
			ended = append(ended, p)
		}
	}
	slices.SortFunc(ended, func(p, q *cachedRecord) int { return p.until.Compare(q.until) })
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
func (c *recordCache) older(than time.Time) (idle []*cachedRecord, ended []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.jobs {
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
func (c *recordCache) unsettled() (all []storedRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.jobs {
		if p.live() || p.old {
			all = append(all, p.storedRecord)
		}
	}
	return all
}
