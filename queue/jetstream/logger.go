package jetstream

import (
	"fmt"
	"strings"
	"sync"
)

// logger passes on what the server complains of; it is quiet about the rest.
type logger struct {
	warn func(string)

	mu    sync.Mutex
	last  string
	fatal bool
}

func (l *logger) complain(format string, v ...any) {
	s := oneLine(fmt.Sprintf(format, v...))
	l.mu.Lock()
	l.last = s
	l.mu.Unlock()
	l.warn("queue: server: " + s)
}

// why adds the last complaint to an error.
func (l *logger) why(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, l.last)
}

func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Errorf(format string, v ...any) { l.complain(format, v...) }

// Fatalf is called where the server's own program would end.
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
	// The index of a stream is behind its messages after a kill, and is made again.
	if strings.Contains(format, "will rebuild") || strings.Contains(format, "Recovering stream state from index") {
		return
	}
	l.complain(format, v...)
}
