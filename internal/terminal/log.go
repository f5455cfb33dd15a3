package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

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

// NewLogger returns a logger for commands without progress: a line for each message.
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

// WithGroup ignores groups: messages for people have no groups.
func (h *handler) WithGroup(string) slog.Handler { return h }
