// Package encode writes files: frames are encoded, all other streams of the input are copied as
// they are, and the file takes its final name once it is complete and checked.
package encode

import (
	"errors"
	"fmt"
)

// ErrOutput is wrapped by every error of the output: it exists, cannot be written, the disk is
// full, or the container cannot hold a stream.
var ErrOutput = errors.New("output not written")

// ErrOption is wrapped by every error of an option that only the encoder can judge, such as an
// unknown encoder or pixel format.
var ErrOption = errors.New("option not understood")

// ErrDamaged is wrapped by the errors of Verify: the file is finished and wrong.
var ErrDamaged = errors.New("output not verified")

// optionError wraps ErrOption.
type optionError struct{ msg, hint string }

func (e *optionError) Error() string { return e.msg }
func (e *optionError) Hint() string  { return e.hint }
func (e *optionError) Unwrap() error { return ErrOption }

func misused(hint, format string, args ...any) error {
	return &optionError{fmt.Sprintf(format, args...), hint}
}
