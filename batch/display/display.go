// Package display shows a batch on a terminal, or as lines for a log or a program.
package display

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/text"
	"vidfilter/internal/wake"
)

// Mode is a form of display.
type Mode string

const (
	// for a terminal: a line for each running job and one for the whole, redrawn in place
	Bar   Mode = "bar"
	Plain Mode = "plain" // a line for each event, and the whole every ten seconds
	JSON  Mode = "json"  // an object per line; see json.go
	None  Mode = "none"  // messages only
)

// Options of a Display.
type Options struct {
	Mode  Mode
	Quiet bool // nothing at all, except in mode JSON

	// Size returns the columns and rows of the terminal, 0 if unknown. It is called for each
	// redraw. nil means 80 columns and 24 rows.
	Size func() (columns, rows int)

	// Env looks up environment variables; nil means os.Getenv. NO_COLOR is respected.
	Env func(string) string

	// Weigh and Frames are for the time left; see tally.Options.
	Weigh  func(queue.Job) int64
	Frames func(queue.Status) int64

	Now func() time.Time // nil is time.Now; must not go back
}

// Display shows a batch. Its methods may be called from any goroutine, and never wait for the
// terminal: Ctrl-S stops no work.
type Display struct {
	w     io.Writer
	o     Options
	color bool
	start time.Time
	wake  chan struct{}
	quit  chan struct{}
	ended chan struct{}

	mu       sync.Mutex
	t        *tally.Tally
	titles   map[string]string
	pending  []byte // to be written
	backlog  int    // lines in pending
	note     string
	warnings []string
	last     time.Time // last line of the whole in mode Plain
	lastLine string
	closed   bool

	drawn []int // columns of the lines on the screen; like w, only used by run
}

// New returns a display that writes to w until Close. It ignores errors of w.
func New(w io.Writer, o Options) *Display {
	d := newDisplay(w, o)
	go d.run()
	return d
}

func newDisplay(w io.Writer, o Options) *Display {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Size == nil {
		o.Size = func() (int, int) { return 0, 0 }
	}
	if o.Quiet && o.Mode != JSON {
		o.Mode = None
	}
	return &Display{
		w: w, o: o, color: o.Mode == Bar && o.Env("NO_COLOR") == "", start: o.Now(), last: o.Now(),
		wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		t: tally.New(tally.Options{Weigh: o.Weigh, Frames: o.Frames}), titles: map[string]string{},
	}
}

// every is the time between two ticks.
func (d *Display) every() time.Duration {
	if d.o.Mode == Bar {
		return 250 * time.Millisecond
	}
	return time.Second
}

// run is the only goroutine that writes.
func (d *Display) run() {
	defer close(d.ended)
	tick := time.NewTicker(d.every())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.tick()
		case <-d.wake:
			d.flush()
		case <-d.quit:
			d.finish()
			return
		}
	}
}

// Update takes the status of a job; the first one is its starting point.
func (d *Display) Update(s queue.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	now := d.o.Now()
	before, ok := d.t.Update(now, s)
	after, _ := d.t.Job(s.Job.ID, now)
	if d.o.Mode == JSON {
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

// Notice shows a message.
func (d *Display) Notice(format string, args ...any) {
	d.message("info", "", fmt.Sprintf(format, args...))
}

// Warn shows a warning once. The done object of mode JSON repeats all warnings.
func (d *Display) Warn(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	d.mu.Lock()
	known := slices.Contains(d.warnings, msg)
	if !known {
		d.warnings = append(d.warnings, msg)
	}
	d.mu.Unlock()
	if !known {
		d.message("warning", d.paint(yellow, "warning:")+" ", msg)
	}
}

// Note sets the reason for a delay, "" for none. While it is set no time left is shown.
func (d *Display) Note(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.note == s || d.closed {
		return
	}
	d.note = s
	switch {
	case d.o.Mode == JSON:
		d.object(jsonMessage{"note", s})
	case d.o.Mode == Plain && s == "":
		d.say("resumed")
	case d.o.Mode == Plain:
		d.say(text.OneLine(s))
	}
}

func (d *Display) message(kind, before, msg string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
	case d.o.Mode == JSON:
		d.object(jsonMessage{kind, msg})
	case !d.o.Quiet:
		d.line("vidfilter: " + before + text.OneLine(msg))
	}
}

// say shows an event in the modes that have them; d.mu is held.
func (d *Display) say(line string) {
	if d.o.Mode == Bar || d.o.Mode == Plain {
		d.line("vidfilter: " + line)
	}
}

// line queues a line for the writing goroutine; d.mu is held.
func (d *Display) line(s string) {
	d.pending = append(append(d.pending, s...), '\n')
	d.backlog++
	wake.Up(d.wake)
}

func (d *Display) take() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.takeLocked()
}

func (d *Display) takeLocked() []byte {
	b := d.pending
	d.pending, d.backlog = nil, 0
	return b
}

// flush writes pending lines, above the redrawn ones.
func (d *Display) flush() {
	if d.o.Mode == Bar {
		d.redraw()
		return
	}
	if b := d.take(); len(b) > 0 {
		d.w.Write(b)
	}
}

// tick writes all lines that are due.
func (d *Display) tick() {
	d.mu.Lock()
	now := d.o.Now()
	switch totals := d.t.Totals(now, d.note != ""); {
	case d.o.Mode == JSON:
		d.object(d.batchObject("batch", totals, now))
	case d.o.Mode == Plain && now.Sub(d.last) >= plainInterval:
		if l := wholeLine(totals); l != d.lastLine { // nothing has happened
			d.say(l)
			d.lastLine = l
		}
		d.last = now
	}
	d.mu.Unlock()
	d.flush()
}

// Close erases the redrawn lines, writes the final state, and returns when everything is written.
// Later calls show nothing.
func (d *Display) Close() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.quit)
	}
	d.mu.Unlock()
	<-d.ended
}

func (d *Display) finish() {
	d.mu.Lock()
	now := d.o.Now()
	totals := d.t.Totals(now, true)
	switch {
	case d.o.Mode == JSON:
		d.object(d.doneObject(totals, now))
	case totals.Jobs > 0:
		d.say(closingLine(totals, d.t.Counters().Frames, now.Sub(d.start)))
	}
	b := d.takeLocked()
	d.mu.Unlock()
	d.w.Write(append(d.erase(), b...))
}
