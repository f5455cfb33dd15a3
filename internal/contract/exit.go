package contract

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// Exit codes of every command.
const (
	ExitDone       = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitInput      = 3
	ExitOutput     = 4
	ExitDevice     = 5
	ExitDamaged    = 6
	ExitQueue      = 7
	ExitInterrupt  = 130 // 128 + SIGINT, as in shells
	ExitQuit       = 131 // 128 + SIGQUIT
	ExitTerminated = 143 // 128 + SIGTERM
)

// ExitTexts describes the codes in help, in order.
var ExitTexts = []struct {
	Code int
	Text string
}{
	{ExitDone, "done"},
	{ExitFailed, "failed"},
	{ExitUsage, "usage"},
	{ExitInput, "input"},
	{ExitOutput, "output or disk"},
	{ExitDevice, "device"},
	{ExitDamaged, "delivered with faults"},
	{ExitQueue, "no queue"},
	{ExitInterrupt, "interrupted"},
	{ExitQuit, "quit"},
	{ExitTerminated, "terminated"},
}

// precedence orders the codes of an error that wraps several: a shortage may look like any other
// failure, and a damaged input may be why the output is damaged.
var precedence = []int{
	ExitFailed, ExitUsage, ExitInterrupt, ExitQuit, ExitTerminated, ExitQueue, ExitDevice, ExitOutput, ExitDamaged, ExitInput,
}

// NewClass returns an error with an exit code, for others to wrap.
func NewClass(code int, text string) error { return &class{code, text} }

type class struct {
	code int
	text string
}

func (c *class) Error() string   { return c.text }
func (c *class) ExitStatus() int { return c.code }

// ExitCode returns the exit code for an error. Errors set it by a method ExitStatus() int; of
// several in err's tree, precedence decides. Without any it is ExitFailed.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	best := len(precedence)
	walk(err, func(e error) {
		if at := slices.Index(precedence, statusOf(e)); at >= 0 {
			best = min(best, at)
		}
	})
	if best == len(precedence) {
		return ExitFailed
	}
	return precedence[best]
}

// statusOf returns the exit code of an error by itself, -1 if it has none.
func statusOf(err error) int {
	switch e := err.(type) {
	case interface{ ExitStatus() int }:
		return e.ExitStatus()
	case *fs.PathError: // package os names the operation
		if e.Op == "write" {
			return ExitOutput
		}
	case syscall.Errno:
		if e == syscall.EPIPE {
			return ExitOutput
		}
	}
	return -1
}

// walk visits all errors of err's tree.
func walk(err error, visit func(error)) {
	visit(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			walk(inner, visit)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			walk(inner, visit)
		}
	}
}

// CauseOf returns the cause of an error as Done has it, "" for most. Errors set it by a method
// Cause() string.
func CauseOf(err error) string {
	var c interface{ Cause() string }
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return CauseNoSpace
	case errors.As(err, &c):
		return c.Cause()
	}
	return ""
}
