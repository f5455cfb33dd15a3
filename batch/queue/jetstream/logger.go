package jetstream

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"vidfilter/internal/hint"
)

// logger passes on the server's errors and warnings, and drops the rest.
type logger struct {
	*slog.Logger
	isLow   func() bool // whether the disk is full
	failing func()      // see Options.Failing; may be nil

	last  atomic.Pointer[error]
	fatal atomic.Bool
	low   atomic.Bool // at an error isLow was true, or a stream takes no more
}

// complain logs an error. It keeps the error value among the arguments, if there is one.
func (l *logger) complain(format string, v ...any) {
	s := oneLine(fmt.Sprintf(format, v...))
	if l.isLow() {
		l.low.Store(true)
	}
	// The server stores nothing more in this stream, and does not announce what it had stored.
	if strings.Contains(strings.ToLower(s), "critical write error") {
		l.low.Store(true)
		if l.failing != nil {
			go l.failing() // the server holds locks
		}
	}
	l.last.Store(new(hint.Says(s, "", errorIn(v))))
	l.Warn("queue: server: " + s)
}

func errorIn(v []any) error {
	for _, x := range v {
		if err, ok := x.(error); ok {
			return err
		}
	}
	return nil
}

// why adds the last logged error to err.
func (l *logger) why(err error) error {
	if last := l.last.Load(); last != nil {
		return fmt.Errorf("%w: %w", err, *last)
	}
	return err
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Errorf(format string, v ...any) { l.complain(format, v...) }

// Fatalf is called where the NATS program would exit.
func (l *logger) Fatalf(format string, v ...any) {
	l.complain(format, v...)
	l.fatal.Store(true)
}

func (l *logger) Warnf(format string, v ...any) {
	// After a kill the index of a stream lags behind its messages, and is rebuilt. That is no
	// news.
	if strings.Contains(format, "will rebuild") || strings.Contains(format, "Recovering stream state from index") {
		return
	}
	l.complain(format, v...)
}
