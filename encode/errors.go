// Package encode is the way out: frames become H.264, every other stream of the input is copied as it is,
// and the result takes its final name only when it is whole and checked.
package encode

import (
	"errors"
	"fmt"
)

// ErrOutput is what every error wraps that lies in the output: it exists, cannot be written, the disk is
// full, or the container cannot hold what is asked.
var ErrOutput = errors.New("output not written")

// ErrOption is what every error wraps that lies in an option only the encoder can judge: there is no such
// encoder or pixel format, or the encoder has no such option.
var ErrOption = errors.New("option not understood")

// ErrDamaged is what an output wraps that was finished and kept although it is not what it should be.
var ErrDamaged = errors.New("output not verified")

// optionError is an error of an option in words, with what can be done about it. It wraps ErrOption.
type optionError struct{ msg, hint string }

func (e *optionError) Error() string { return e.msg }
func (e *optionError) Hint() string  { return e.hint }
func (e *optionError) Unwrap() error { return ErrOption }

func misused(hint, format string, args ...any) error {
	return &optionError{fmt.Sprintf(format, args...), hint}
}
