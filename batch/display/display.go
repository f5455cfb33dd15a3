// Package display shows a batch on a terminal, or as lines for a log or a program.
package display

import (
	"reflect"
	"sync"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

// Options of a Display.
type Options struct {
	Sums tally.Options
	Now  func() time.Time // nil is time.Now; must not go back
}

// Display shows a batch: in mode bar a line for each running job and one for the whole, in mode
// plain a line for each event and the whole every ten seconds, in mode json an object per line;
// see json.go. Its methods may be called from any goroutine, and never wait for the terminal:
// Ctrl-S stops no work.
type Display struct {
	*terminal.Screen
	o     Options
	start time.Time
	stop  func()

	mu       sync.Mutex
	t        *tally.Tally
	note     string
	last     time.Time // last line of the whole in mode plain
	lastLine string
}

// New returns a display on a patient screen, until Close.
func New(screen *terminal.Screen, o Options) *Display {
	d := newDisplay(screen, o)
	every := time.Second
	if d.Mode == "bar" {
		every = 250 * time.Millisecond
	}
	d.stop = d.Follow(every, func(last bool) {
		if !last {
			d.tick()
		}
	})
	return d
}

func newDisplay(screen *terminal.Screen, o Options) *Display {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Sums.Keep = 1 // done jobs are not shown
	d := &Display{
		Screen: screen, o: o, start: o.Now(), last: o.Now(), stop: func() {}, t: tally.New(o.Sums),
	}
	d.Redraw = d.lines
	return d
}

// Update takes the status of a job; the first one is its starting point.
func (d *Display) Update(s queue.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	before, ok := d.t.Update(now, s)
	after, there := d.t.Job(s.Job.ID, now)
	if !there {
		return
	}
	if d.Mode == "json" {
		d.jobObject(before, after)
		return
	}
	if !ok {
		before = tally.Job{State: queue.Queued}
		if s.State.Ended() && s.Ended.Before(d.start) { // in an earlier run
			return
		}
	}
	for _, l := range d.events(before, after) {
		d.say(l)
	}
}

// Knows reports whether there was an Update of a job.
func (d *Display) Knows(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.t.Knows(id)
}

// Forget drops a job that is done; see tally.Tally.Forget.
func (d *Display) Forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.t.Forget(id)
}

// Ahead sets the jobs that are yet to come.
func (d *Display) Ahead(b queue.Backlog) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.t.Ahead(b)
}

// Note sets the reason for a delay, or "". It hides the time left.
func (d *Display) Note(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.note == s {
		return
	}
	d.note = s
	switch {
	case d.Mode == "json":
		d.Object(contract.Message{Type: "note", Message: s})
	case d.Mode == "plain" && s == "":
		d.say("resumed")
	case d.Mode == "plain":
		d.say(text.OneLine(s))
	}
}

// say shows an event in modes bar and plain.
func (d *Display) say(line string) {
	if d.Mode == "bar" || d.Mode == "plain" {
		d.Line(line)
	}
}

// tick shows the whole if that is due.
func (d *Display) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	switch totals := d.t.Totals(now, d.note != ""); {
	case d.Mode == "json":
		d.Object(d.batchObject("batch", totals, now))
	case d.Mode == "plain" && now.Sub(d.last) >= plainInterval:
		if l := wholeLine(totals); l != d.lastLine { // else unchanged
			d.say(l)
			d.lastLine = l
		}
		d.last = now
	}
}

// Close erases the redrawn lines, writes the final state, and returns when everything is written.
// Later calls have no effect.
func (d *Display) Close() {
	d.stop()
	d.mu.Lock()
	now, last := d.o.Now(), ""
	totals := d.t.Totals(now, true)
	switch {
	case d.Mode == "json":
		last = terminal.Encoded(jsonDone{d.batchObject("done", totals, now), d.Warnings()})
	case d.Mode != "none" && totals.Jobs > 0:
		last = "vidfilter: " + closingLine(totals, d.t.Counters().Frames, now.Sub(d.start)) + "\n"
	}
	d.mu.Unlock()
	d.Screen.Close(last)
}

// Objects of mode json, one per line; the last one is a done. Names are stable.
//
// 	{"type":"job","job":{"id":...,"state":"running","part":0.41,...}}   a change; see tally.Job
// 	{"type":"batch","time":...,"elapsed":12.5,"note":"","totals":{"jobs":40,"done":3,...}}
// 	                                          the whole, every second; see tally.Totals
// 	{"type":"note","message":"paused: ..."}   the work is held up; "" when it resumes
// 	{"type":"info"|"warning","message":"..."}
// 	{"type":"done",...as batch...,"warnings":[...]}

type jsonJob struct {
	Type string    `json:"type"` // job
	Job  tally.Job `json:"job"`
}

type jsonBatch struct {
	Type    string       `json:"type"` // batch
	Time    time.Time    `json:"time"`
	Elapsed float64      `json:"elapsed"` // in seconds
	Note    string       `json:"note"`    // why the work is held up, or ""
	Totals  tally.Totals `json:"totals"`
}

type jsonDone struct {
	jsonBatch          // done
	Warnings  []string `json:"warnings"`
}

// maxBacklog is how many lines may wait for a slow reader before mere progress is dropped.
const maxBacklog = 4096

// jobObject writes a changed job; d.mu is held.
func (d *Display) jobObject(before, after tally.Job) {
	if reflect.DeepEqual(before, after) || d.Backlog() > maxBacklog && before.State == after.State && before.Retried == after.Retried {
		return
	}
	if before.State == queue.State("") && after.State.Ended() && after.Ended != nil && after.Ended.Before(d.start) {
		return // of an earlier run: counted in the totals
	}
	d.Object(jsonJob{"job", after})
}

func (d *Display) batchObject(kind string, t tally.Totals, now time.Time) jsonBatch {
	return jsonBatch{kind, now, now.Sub(d.start).Round(time.Millisecond).Seconds(), d.note, t}
}
