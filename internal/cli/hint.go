package cli

import (
	"fmt"
	"io"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
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

// PrintError prints an error and its advice. It is silent where the reader of the output has gone:
// programs in a pipeline end silently then.
func PrintError(w io.Writer, err error) {
	if contract.ExitCode(err) == contract.ExitPipe {
		return
	}
	fmt.Fprintf(w, "vidfilter: %s\n", text.OneLine(err.Error()))
	if h := hint.Of(err); h != "" {
		fmt.Fprintf(w, "hint: %s\n", text.OneLine(h))
	}
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
