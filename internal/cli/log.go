package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"vidfilter/internal/contract"
	"vidfilter/internal/text"
)

// LevelNotice is for answers to a keypress or signal, which appear even with --quiet.
const LevelNotice = slog.LevelError + 4

// handler formats records as messages: the attribute "error" follows a colon, others are
// key=value.
type handler struct {
	least slog.Level
	write func(level slog.Level, msg string)
	attrs []slog.Attr
}

// LogTo returns a logger of messages from a level on.
func LogTo(least slog.Level, write func(level slog.Level, msg string)) *slog.Logger {
	return slog.New(&handler{least: least, write: write})
}

// NewLogger returns a logger for commands without a UI: a line for each message.
func NewLogger(w io.Writer, quiet bool) *slog.Logger {
	least := slog.LevelInfo
	if quiet {
		least = LevelNotice
	}
	return LogTo(least, func(_ slog.Level, msg string) { fmt.Fprintf(w, "vidfilter: %s\n", text.OneLine(msg)) })
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		if a.Key == "error" {
			fmt.Fprintf(&b, ": %v", a.Value)
		} else {
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.write(r.Level, b.String())
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.least, h.write, slices.Concat(h.attrs, attrs)}
}

// WithGroup ignores groups: messages for people have none.
func (h *handler) WithGroup(string) slog.Handler { return h }

// log handles the records of a UI. A repeated warning is dropped; all are also in the done object
// of --progress json.
func (u *UI) log(level slog.Level, msg string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if level == slog.LevelWarn {
		if slices.Contains(u.warnings, msg) {
			return
		}
		u.warnings = append(u.warnings, msg)
	}
	if !u.done && (!u.quiet || level >= LevelNotice) {
		u.form(level, msg)
	}
}

// barMessage writes a message above the bar.
func (u *UI) barMessage(level slog.Level, msg string) {
	line := u.messageLine(level, msg)
	if u.line == "" {
		fmt.Fprintln(u.w, line)
		return
	}
	fmt.Fprintf(u.w, "%s%s\n%s", clearLine, line, u.line)
}

func (u *UI) plainMessage(level slog.Level, msg string) {
	fmt.Fprintln(u.w, u.messageLine(level, msg))
}

func (u *UI) jsonMessage(level slog.Level, msg string) {
	kinds := map[slog.Level]string{slog.LevelDebug: contract.TypeVerbose, slog.LevelWarn: contract.TypeWarning}
	u.object(contract.Message{Type: cmp.Or(kinds[level], contract.TypeInfo), Message: msg})
}

func (u *UI) messageLine(level slog.Level, msg string) string {
	kind := ""
	if level == slog.LevelWarn {
		kind = u.paint("33", "warning:") + " "
	}
	return "vidfilter: " + kind + text.OneLine(msg)
}
