package cli

import (
	"fmt"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

// UsageError is a mistake on the command line or in the environment.
type UsageError struct{ msg, hint string }

func (e *UsageError) Error() string { return e.msg }

func (e *UsageError) Hint() string { return e.hint }

func (e *UsageError) Unwrap() error { return contract.Class(contract.ExitUsage) }

// Usagef returns a UsageError. The hint comes first so that it is not forgotten.
func Usagef(hint, format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...), hint}
}

// BadOption turns an error that another package found in an option into a UsageError.
func BadOption(err error) error { return Usagef(hint.Of(err), "%v", err) }

// WithHint puts an error and its advice on one line.
func WithHint(err error) string {
	if h := hint.Of(err); h != "" {
		return fmt.Sprintf("%v (%s)", err, h)
	}
	return err.Error()
}
