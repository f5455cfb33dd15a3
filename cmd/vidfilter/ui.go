package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"vidfilter/encode"
	"vidfilter/internal/text"
)

// ui says on stderr what goes on. Its methods may be called from any goroutine.
type ui struct {
	w         io.Writer
	in        io.Reader
	mode      string // bar, plain, json, none
	quiet     bool
	talkative bool
	color     bool
	canAsk    bool
	width     func() int
	now       func() time.Time
	interval  time.Duration // 0: the mode's own

	mu       sync.Mutex
	line     string // the bar on the screen, "" when there is none
	warnings []string
	done     bool // the last word is said
	leave    func()
}

// onAbandon sets what is to be removed when the program ends in the middle of a job that does not listen.
func (u *ui) onAbandon(remove func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leave = remove
}

func (u *ui) abandon() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.leave != nil {
		u.leave()
	}
}

func newUI(o *options, s stdio) *ui {
	terminal := isTerminal(s.err) && lookup(s.env, "TERM") != "dumb"
	u := &ui{
		w: s.err, in: s.in, mode: progressMode(o.Progress, terminal), quiet: o.Quiet, talkative: o.Verbose,
		color: terminal && lookup(s.env, "NO_COLOR") == "",
		width: func() int { return terminalWidth(s.err) },
		now:   time.Now,
	}
	u.canAsk = isTerminal(s.err) && isTerminal(s.in) && o.Input != "-" && !o.NoOverwrite && u.mode != "json"
	if u.quiet && u.mode != "json" {
		u.mode = "none"
	}
	return u
}

// progressMode resolves auto. A bar needs a terminal that can clear a line, also when it is asked for.
func progressMode(asked string, terminal bool) string {
	switch {
	case asked == "auto" && terminal, asked == "bar" && terminal:
		return "bar"
	case asked == "auto", asked == "bar":
		return "plain"
	}
	return asked
}

// warn says something once that the person should know although the job goes on. All warnings are also
// in the done object of --progress json.
func (u *ui) warn(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Contains(u.warnings, msg) {
		return
	}
	u.warnings = append(u.warnings, msg)
	if !u.quiet {
		u.say("warning", "vidfilter: "+u.paint("33", "warning:")+" "+text.OneLine(msg), msg)
	}
}

// info says something of interest.
func (u *ui) info(format string, args ...any) { u.message("info", !u.quiet, format, args...) }

// verbose says a detail, if details are wanted.
func (u *ui) verbose(format string, args ...any) { u.message("verbose", u.talkative, format, args...) }

// notice answers the person at the keyboard, also when quiet.
func (u *ui) notice(format string, args ...any) { u.message("info", true, format, args...) }

func (u *ui) message(kind string, wanted bool, format string, args ...any) {
	if !wanted {
		return
	}
	msg := fmt.Sprintf(format, args...)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.say(kind, "vidfilter: "+text.OneLine(msg), msg)
}

// say writes a message in the mode's form; u.mu is held.
func (u *ui) say(kind, line, msg string) {
	switch {
	case u.done:
	case u.mode == "json":
		u.object(jsonMessage{kind, msg})
	default:
		u.above(line)
	}
}

// above writes a line above the bar.
func (u *ui) above(line string) {
	if u.line == "" {
		fmt.Fprintln(u.w, line)
		return
	}
	fmt.Fprintf(u.w, "%s%s\n%s", clearLine, line, u.line)
}

// object writes one line of JSON. Errors of stderr have nowhere to go.
func (u *ui) object(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = fmt.Appendf(nil, `{"type":"error","message":%q}`, err)
	}
	u.w.Write(append(b, '\n'))
}

func (u *ui) paint(code, s string) string {
	if !u.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (u *ui) unknownEnvironment(env []string) {
	names, meant := misspelled(env)
	for i, n := range names {
		u.warn("%s is in the environment, but there is no such option; %s is one", n, meant[i])
	}
}

// finish says how the job ended, which is the last that is said, and returns the exit code. Later calls
// only return the code.
func (u *ui) finish(r result, err error) int {
	code := exitCode(err)
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

func (u *ui) finishText(r result, err error) {
	kept := err == nil || r.Interrupted && r.Output != "" || errors.Is(err, encode.ErrDamaged)
	if kept && !u.quiet {
		for _, what := range slices.Sorted(maps.Keys(r.Damage)) {
			fmt.Fprintf(u.w, "vidfilter: %s %s: %d\n", u.paint("33", "damage:"), text.OneLine(what), r.Damage[what])
		}
		fmt.Fprintln(u.w, summary(r))
	}
	if r.Interrupted && r.Output != "" {
		err = fmt.Errorf("%w; %s holds what was done until then", err, r.Output)
	}
	if err != nil {
		printError(u.w, err)
	}
}
