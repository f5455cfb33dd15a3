// Package hint attaches advice for the user to errors.
package hint

import (
	"errors"
	"fmt"
)

// Error is an error with a hint.
type Error struct {
	err  error
	hint string
}

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error without its hint.
func (e *Error) Unwrap() error { return e.err }

// Hint returns the advice; it may be empty.
func (e *Error) Hint() string { return e.hint }

// Errorf is fmt.Errorf with a hint. The hint comes first so that none is forgotten.
func Errorf(hint, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), hint}
}

// Wrap adds a hint to err.
func Wrap(err error, hint string) error { return &Error{err, hint} }

// Add is Wrap that keeps the hint that err has, after the new one.
func Add(err error, hint string) error {
	if old := Of(err); old != "" {
		hint += "; " + old
	}
	return Wrap(err, hint)
}

// Of returns the outermost hint in err's chain, or "".
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
