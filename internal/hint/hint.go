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

// Hint returns the advice, possibly empty.
func (e *Error) Hint() string { return e.hint }

// Errorf is fmt.Errorf with a hint. The hint comes first so that it is not forgotten.
func Errorf(hint, format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), hint}
}

// Says returns an error with a text of its own and a hint. It wraps others without repeating them.
func Says(text, hint string, wraps ...error) error { return &Error{said{text, wraps}, hint} }

type said struct {
	text  string
	wraps []error
}

func (s said) Error() string   { return s.text }
func (s said) Unwrap() []error { return s.wraps }

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
