package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/internal/text"
	"vidfilter/live/window"
	"vidfilter/queue/jetstream"
)

// The exit codes.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitInput      = 3
	exitOutput     = 4
	exitDevice     = 5
	exitDamaged    = 6
	exitQueue      = 7
	exitInterrupt  = 130 // 128 + SIGINT, as shells have it
	exitTerminated = 143 // 128 + SIGTERM
)

// exitTexts is what --help says of the codes, in order.
var exitTexts = []struct {
	code int
	text string
}{
	{exitDone, "done"},
	{exitFailed, "failed"},
	{exitUsage, "usage"},
	{exitInput, "input"},
	{exitOutput, "output or disk"},
	{exitDevice, "device"},
	{exitDamaged, "done but damaged or not verified"},
	{exitQueue, "no queue"},
	{exitInterrupt, "interrupted"},
	{exitTerminated, "terminated"},
}

// exitCode is the one place where exit codes are chosen.
func exitCode(err error) int {
	var usage *usageError
	var interrupted interruption
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.Is(err, encode.ErrOption), errors.Is(err, decode.ErrOption):
		return exitUsage
	case errors.As(err, &interrupted) && interrupted.signal == syscall.SIGINT:
		return exitInterrupt
	case errors.As(err, &interrupted):
		return exitTerminated
	case errors.As(err, new(*jetstream.Error)):
		return exitQueue
	case errors.Is(err, gpu.ErrDevice), errors.Is(err, window.ErrWindow):
		return exitDevice
	case errors.Is(err, encode.ErrOutput), errors.Is(err, syscall.EPIPE), isWrite(err):
		return exitOutput
	case errors.Is(err, encode.ErrDamaged): // before the input, whose damage may be the reason
		return exitDamaged
	case errors.Is(err, decode.ErrUnreadable):
		return exitInput
	}
	return exitFailed
}

// isWrite tells an error of printing: package os says the operation.
func isWrite(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write"
}

// usageError is a mistake on the command line or in the environment.
type usageError struct{ msg, hint string }

func (e *usageError) Error() string { return e.msg }
func (e *usageError) Hint() string  { return e.hint }

// usagef returns a usageError. The hint comes first, so that none is forgotten.
func usagef(hint, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), hint}
}

// hintOf returns what a person can do about err, or "".
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

func printError(w io.Writer, err error) {
	fmt.Fprintf(w, "vidfilter: %s\n", text.OneLine(err.Error()))
	if h := hintOf(err); h != "" {
		fmt.Fprintf(w, "hint: %s\n", text.OneLine(h))
	}
}
