// Package batch knows what a person asked a batch for, and what was done: sources and job files become items, each item's output has a
// record, and records become a report. It runs nothing.
package batch

import (
	"errors"
	"fmt"
)

// Error is a mistake of the person's, or something in their files' way, with what can be done about it.
type Error struct{ msg, hint string }

func (e *Error) Error() string { return e.msg }

// Hint says what to do, or is "".
func (e *Error) Hint() string { return e.hint }

// errorf returns an Error. The hint comes first, so that none is forgotten.
func errorf(hint, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), hint}
}

func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
