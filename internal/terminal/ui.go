package terminal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/rate"
	"vidfilter/internal/text"
)

// UI is the screen of one job. Its methods are safe for concurrent use.
type UI struct {
	*Screen
	CanAsk bool

	in       io.Reader
	interval time.Duration // 0: the mode's own
	progress *progress     // in the bar, or nil
	leave    func()
	begun    bool // there is something to end cleanly
}

// UIOptions choose how much is reported, and in which form.
type UIOptions struct {
	ScreenOptions
	NeverAsk bool
}

func NewUI(s Stdio, o UIOptions) *UI {
	u := &UI{Screen: NewScreen(s, o.ScreenOptions), in: s.In}
	u.CanAsk = IsTerminal(s.Err) && IsTerminal(s.In) && !o.NeverAsk && o.Progress != "json"
	u.Redraw = u.bar
	return u
}

func (u *UI) bar(columns, rows int) []ScreenLine {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.progress
	if p == nil {
		return nil
	}
	lines := []ScreenLine{{Text: barLine(*p, columns)}}
	if p.Slowest != "" && rows > 1 {
		lines = append(lines, ScreenLine{Text: text.Clip(work(p.StageTimes(), p.Slowest), columns)})
	}
	return lines
}

// OnAbandon sets a function that removes temporary files if the job does not react to signals.
func (u *UI) OnAbandon(remove func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leave = remove
}

func (u *UI) hasBegun() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.begun
}

func (u *UI) abandon() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.leave != nil {
		u.leave()
	}
}

// Debugf is Debug with a format.
func (u *UI) Debugf(format string, args ...any) { u.Debug(fmt.Sprintf(format, args...)) }

// Track shows progress until stop is called, which waits for the last report. It calls poll a
// few times a second from another goroutine.
func (u *UI) Track(poll func() Snapshot) (stop func()) {
	u.mu.Lock()
	u.begun = true
	u.mu.Unlock()
	every := map[string]time.Duration{
		"bar":   200 * time.Millisecond,
		"json":  500 * time.Millisecond,
		"plain": 5 * time.Second,
	}[u.Mode]
	if every == 0 {
		return func() {}
	}
	if u.interval > 0 {
		every = u.interval
	}
	var t rate.Meter
	t.Sample(time.Now(), rate.Amounts{})
	return u.Follow(every, func(last bool) {
		if u.Mode != "plain" || !last { // a short job shows one too, and the last has the final counts
			u.show(observe(&t, time.Now(), poll()))
		}
		if last {
			u.setBar(nil)
		}
	})
}

func (u *UI) show(s progress) {
	switch u.Mode {
	case "json":
		u.Object(progressObject(s))
	case "plain":
		u.Line(plainLine(s))
	case "bar":
		u.setBar(&s)
	}
}

func (u *UI) setBar(s *progress) {
	u.mu.Lock()
	u.progress = s
	u.mu.Unlock()
	u.Flush()
}

// Finish reports the end of the job and returns the exit code. Later messages are dropped.
func (u *UI) Finish(r Result, err error) int {
	code := contract.ExitCode(err)
	last := u.finishText(r, err)
	if u.Mode == "json" {
		last = Encoded(doneObject(r, err, u.Warnings()))
	}
	u.Close(last)
	return code
}

func (u *UI) finishText(r Result, err error) string {
	var b strings.Builder
	if (err == nil || r.Kept) && !u.quiet {
		for _, what := range slices.Sorted(maps.Keys(r.Damage)) {
			fmt.Fprintf(&b, "vidfilter: %s %s: %d\n", u.Paint(Yellow, "damage:"), text.OneLine(what), r.Damage[what])
		}
		fmt.Fprintln(&b, summary(r))
	}
	if err != nil {
		PrintError(&b, r.located(err))
	}
	return b.String()
}
