package jetstream

import (
	"fmt"
	"strings"
	"sync"
)

// logger passes on the server's errors and warnings, and drops the rest.
type logger struct {
	warnf func(string, ...any)
	isLow func() bool // whether the disk is full

	mu    sync.Mutex
	last  error
	fatal bool
	low   bool // isLow was true at an error
}

// complain logs an error. It keeps the error value among the arguments, if there is one.
func (l *logger) complain(format string, v ...any) {
	s := oneLine(fmt.Sprintf(format, v...))
	low := l.isLow()
	l.mu.Lock()
	l.last = &serverError{s, errorIn(v)}
	l.low = l.low || low
	l.mu.Unlock()
	l.warnf("queue: server: %s", s)
}

// serverError is an error that the server has logged.
type serverError struct {
	text  string
	cause error // may be nil
}

func (e *serverError) Error() string { return e.text }
func (e *serverError) Unwrap() error { return e.cause }

func errorIn(v []any) error {
	for _, x := range v {
		if err, ok := x.(error); ok {
			return err
		}
	}
	return nil
}

// wasLow reports whether the disk was full when the server logged an error.
func (l *logger) wasLow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.low
}

func (l *logger) recovered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.low = false
}

// why adds the last logged error to err.
func (l *logger) why(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, l.last)
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Errorf(format string, v ...any) { l.complain(format, v...) }

// Fatalf is called where the NATS program would exit.
func (l *logger) Fatalf(format string, v ...any) {
	l.complain(format, v...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = true
}

func (l *logger) isFatal() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func (l *logger) Warnf(format string, v ...any) {
	// After a kill the index of a stream lags behind its messages, and is rebuilt. That is no
	// news.
	if strings.Contains(format, "will rebuild") || strings.Contains(format, "Recovering stream state from index") {
		return
	}
	l.complain(format, v...)
}
