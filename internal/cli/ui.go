package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"vidfilter/internal/text"
)

// UI reports on stderr. Its methods are safe for concurrent use.
type UI struct {
	*slog.Logger
	form func(slog.Level, string) // of the mode; mu is held

	w        io.Writer
	in       io.Reader
	mode     string // bar, plain, json, none
	quiet    bool
	color    bool
	CanAsk   bool
	width    func() int
	now      func() time.Time
	interval time.Duration // 0: the mode's own
	exitCode func(error) int

	mu       sync.Mutex
	line     string // the bar on the screen, "" when there is none
	warnings []string
	done     bool // Finish was called
	leave    func()
}

// UIOptions choose how much is reported, and in which form.
type UIOptions struct {
	Progress       string // auto, bar, plain, json, none
	Quiet, Verbose bool
	NeverAsk       bool
	ExitCode       func(error) int
}

func NewUI(s Stdio, o UIOptions) *UI {
	terminal := IsTerminal(s.Err) && Lookup(s.Env, "TERM") != "dumb"
	u := &UI{
		w: s.Err, in: s.In, mode: ProgressMode(o.Progress, terminal), quiet: o.Quiet,
		color: terminal && Lookup(s.Env, "NO_COLOR") == "",
		width: func() int { return TerminalWidth(s.Err) },
		now:   time.Now, exitCode: o.ExitCode,
	}
	u.CanAsk = IsTerminal(s.Err) && IsTerminal(s.In) && !o.NeverAsk && u.mode != "json"
	if u.quiet && u.mode != "json" {
		u.mode = "none"
	}
	u.form = map[string]func(slog.Level, string){"bar": u.barMessage, "json": u.jsonMessage}[u.mode]
	if u.form == nil {
		u.form = u.plainMessage
	}
	least := slog.LevelInfo
	if o.Verbose {
		least = slog.LevelDebug
	}
	u.Logger = LogTo(least, u.log)
	return u
}

// OnAbandon sets a function that removes temporary files if the job does not react to signals.
func (u *UI) OnAbandon(remove func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leave = remove
}

func (u *UI) abandon() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.leave != nil {
		u.leave()
	}
}

// ProgressMode resolves auto. A bar needs a terminal that can clear a line.
func ProgressMode(asked string, terminal bool) string {
	switch {
	case asked == "auto" && terminal, asked == "bar" && terminal:
		return "bar"
	case asked == "auto", asked == "bar":
		return "plain"
	}
	return asked
}

// Debugf is Debug with a format.
func (u *UI) Debugf(format string, args ...any) { u.Debug(fmt.Sprintf(format, args...)) }

// Notice answers a keypress or signal.
func (u *UI) Notice(msg string) { u.Log(context.Background(), LevelNotice, msg) }

// object writes a line of JSON. Errors of stderr have nowhere to go.
func (u *UI) object(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = fmt.Appendf(nil, `{"type":"error","message":%q}`, err)
	}
	u.w.Write(append(b, '\n'))
}

func (u *UI) paint(code, s string) string {
	if !u.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Finish reports the end of the job and returns the exit code. Later messages are dropped.
func (u *UI) Finish(r Result, err error) int {
	code := u.exitCode(err)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done {
		return code
	}
	u.clear()
	if u.mode == "json" {
		u.object(doneObject(r, err, code, u.warnings))
	} else {
		u.finishText(r, err)
	}
	u.done = true
	return code
}

func (u *UI) finishText(r Result, err error) {
	if (err == nil || r.Kept) && !u.quiet {
		for _, what := range slices.Sorted(maps.Keys(r.Damage)) {
			fmt.Fprintf(u.w, "vidfilter: %s %s: %d\n", u.paint("33", "damage:"), text.OneLine(what), r.Damage[what])
		}
		fmt.Fprintln(u.w, summary(r))
	}
	if err != nil {
		PrintError(u.w, r.located(err))
	}
}
