package contract

import (
	"cmp"
	"errors"
	"io/fs"
	"strconv"
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
	ExitPipe       = 141 // 128 + SIGPIPE
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
	{ExitPipe, "reader gone"},
	{ExitTerminated, "terminated"},
}

// precedence orders the codes of an error that is of several classes: a shortage may look like any
// other failure, and a damaged input may be why the output is damaged.
var precedence = []int{
	ExitFailed, ExitUsage, ExitInterrupt, ExitQuit, ExitTerminated, ExitQueue, ExitDevice, ExitPipe, ExitOutput, ExitDamaged, ExitInput,
}

// Class returns the error that stands for an exit code: errors that cause the code match it by
// errors.Is.
func Class(code int) error { return class{code, ""} }

// NewClass returns an error with a text that matches a class, for others to wrap.
func NewClass(code int, text string) error { return &class{code, text} }

type class struct {
	code int
	text string
}

func (c class) Error() string        { return cmp.Or(c.text, "exit code "+strconv.Itoa(c.code)) }
func (c class) Is(target error) bool { return target == Class(c.code) }

// ExitCode returns the exit code for an error: ExitFailed, unless the error is of a class.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	for _, code := range precedence {
		if errors.Is(err, Class(code)) || code == ExitPipe && isPipe(err) || code == ExitOutput && (errors.Is(err, syscall.EPIPE) || isWrite(err)) {
			return code
		}
	}
	return ExitFailed
}

// isPipe reports whether the reader of the output has closed it; connections fail so as well.
func isPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) && (errors.Is(err, Class(ExitOutput)) || isWrite(err))
}

// isWrite reports whether printing failed: package os names the operation.
func isWrite(err error) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && path.Op == "write"
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
