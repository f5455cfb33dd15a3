package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/text"
	"vidfilter/internal/wake"
)

// Screen shows messages and, below them, progress. Its methods are safe for concurrent use.
type Screen struct {
	*slog.Logger
	Mode   string // bar, plain, json, none
	Colors bool
	Size   func() (columns, rows int)

	// Redraw returns the lines below the messages in mode bar.
	Redraw func(columns, rows int) []ScreenLine

	w     io.Writer
	quiet bool
	wake  chan struct{} // for Follow, which writes; nil: every caller writes

	writing sync.Mutex
	drawn   []int // columns of the lines below the messages

	mu       sync.Mutex
	pending  []byte // to be written
	backlog  int    // texts in pending
	warnings []string
	closed   bool
}

// ScreenLine is a line of progress.
type ScreenLine struct{ Text, Color string }

// Colors of a terminal.
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// ScreenOptions choose how much is shown, and in which form.
type ScreenOptions struct {
	Progress       string // auto, bar, plain, json, none
	Quiet, Verbose bool
	Patient        bool // callers never wait for the terminal: Follow writes
}

// NewScreen returns a screen on stderr. A bar needs a terminal that can clear a line.
func NewScreen(s Stdio, o ScreenOptions) *Screen {
	terminal := IsTerminal(s.Err) && cli.Lookup(s.Env, "TERM") != "dumb"
	c := &Screen{
		Mode: o.Progress, Colors: terminal && cli.Lookup(s.Env, "NO_COLOR") == "", w: s.Err, quiet: o.Quiet,
		Size:   func() (int, int) { return TerminalSize(s.Err) },
		Redraw: func(int, int) []ScreenLine { return nil },
	}
	asked := c.Mode == "auto" || c.Mode == "bar"
	switch {
	case c.quiet && c.Mode != "json":
		c.Mode = "none"
	case asked && terminal:
		c.Mode = "bar"
	case asked:
		c.Mode = "plain"
	}
	if o.Patient {
		c.wake = make(chan struct{}, 1)
	}
	least := slog.LevelInfo
	if o.Verbose {
		least = slog.LevelDebug
	}
	c.Logger = LogTo(least, c.log)
	return c
}

// Notice answers a keypress or signal.
func (c *Screen) Notice(msg string) { c.Log(context.Background(), LevelNotice, msg) }

// log shows a message. A repeated warning is dropped.
func (c *Screen) log(level slog.Level, msg string) {
	if level == slog.LevelWarn && !c.keepWarning(msg) || c.quiet && level < LevelNotice {
		return
	}
	if c.Mode == "json" {
		kinds := map[slog.Level]string{slog.LevelDebug: contract.TypeVerbose, slog.LevelWarn: contract.TypeWarning}
		c.Object(contract.Message{Type: cmp.Or(kinds[level], contract.TypeInfo), Message: msg})
		return
	}
	kind := ""
	if level == slog.LevelWarn {
		kind = c.Paint(Yellow, "warning:") + " "
	}
	c.Line(kind + text.OneLine(msg))
}

func (c *Screen) keepWarning(msg string) (fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh = !slices.Contains(c.warnings, msg); fresh {
		c.warnings = append(c.warnings, msg)
	}
	return fresh
}

// Warnings returns all warnings so far.
func (c *Screen) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.warnings...)
}

// Paint colours a text if the screen has colours.
func (c *Screen) Paint(color, s string) string {
	if !c.Colors || color == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// Line shows a line, which must be safe for a terminal.
func (c *Screen) Line(s string) { c.print("vidfilter: " + s + "\n") }

// Object shows a line of JSON.
func (c *Screen) Object(v any) { c.print(Encoded(v)) }

// Encoded returns a line of JSON.
func Encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		b = fmt.Appendf(nil, `{"type":"error","message":%q}`, err)
	}
	return string(b) + "\n"
}

func (c *Screen) print(s string) {
	c.add(s, false)
	if c.wake == nil {
		c.Flush()
		return
	}
	wake.Up(c.wake)
}

func (c *Screen) add(s string, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.pending = append(c.pending, s...)
		c.backlog++
		c.closed = last
	}
}

// Backlog returns the number of lines that wait for a slow terminal.
func (c *Screen) Backlog() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backlog
}

// Flush writes messages and redraws the lines below them, in one write, without flicker. Errors of
// stderr have nowhere to go.
func (c *Screen) Flush() {
	c.writing.Lock()
	defer c.writing.Unlock()
	columns, rows := c.Size()
	var lines []ScreenLine
	if c.Mode == "bar" {
		lines = c.Redraw(columns-1, rows-1)
	}
	c.mu.Lock()
	b := append(c.erase(columns), c.pending...)
	c.pending, c.backlog = nil, 0
	if c.closed {
		lines = nil
	}
	c.mu.Unlock()
	for _, l := range lines {
		b = append(b, c.Paint(l.Color, l.Text)+"\n"...)
		c.drawn = append(c.drawn, text.Columns(l.Text))
	}
	if len(b) > 0 {
		c.w.Write(b)
	}
}

// erase returns the codes that erase the lines drawn before. A terminal that has become narrower
// has wrapped them.
func (c *Screen) erase(columns int) []byte {
	n := 0
	for _, w := range c.drawn {
		n += max(1, (w+columns-1)/columns)
	}
	c.drawn = c.drawn[:0]
	if n == 0 {
		return nil
	}
	return fmt.Appendf(nil, "\r\x1b[%dA\x1b[J", n)
}

// Follow calls tick every interval from another goroutine until stop is called, which waits for
// a last call.
func (c *Screen) Follow(interval time.Duration, tick func(last bool)) (stop func()) {
	quit := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				tick(false)
			case <-c.wake:
			case <-quit:
				tick(true)
				return
			}
			c.Flush()
		}
	})
	return sync.OnceFunc(func() {
		close(quit)
		following.Wait()
	})
}

// Close erases the progress and writes a last text. Later messages are dropped.
func (c *Screen) Close(last string) {
	c.add(last, true)
	c.Flush()
}
