package job

import (
	"errors"
	"io/fs"
	"syscall"

	"vidfilter/batch/queue/jetstream"
	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/internal/av"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
)

// ExitTexts describes the codes in help, in order.
var ExitTexts = []struct {
	Code int
	Text string
}{
	{contract.ExitDone, "done"},
	{contract.ExitFailed, "failed"},
	{contract.ExitUsage, "usage"},
	{contract.ExitInput, "input"},
	{contract.ExitOutput, "output or disk"},
	{contract.ExitDevice, "device"},
	{contract.ExitDamaged, "delivered with faults"},
	{contract.ExitQueue, "no queue"},
	{contract.ExitInterrupt, "interrupted"},
	{contract.ExitQuit, "quit"},
	{contract.ExitTerminated, "terminated"},
}

// ExitCode maps an error to an exit code.
func ExitCode(err error) int {
	var usage *cli.UsageError
	var interrupted cli.Interruption
	switch {
	case err == nil:
		return contract.ExitDone
	case errors.As(err, new(*av.Shortage)): // whatever the library took it for
		return contract.ExitFailed
	case errors.As(err, &usage), errors.Is(err, encode.ErrOption), errors.Is(err, decode.ErrOption):
		return contract.ExitUsage
	case errors.As(err, &interrupted) && interrupted.Signal == syscall.SIGINT:
		return contract.ExitInterrupt
	case errors.As(err, &interrupted) && interrupted.Signal == syscall.SIGQUIT:
		return contract.ExitQuit
	case errors.As(err, &interrupted):
		return contract.ExitTerminated
	case errors.As(err, new(*jetstream.Error)):
		return contract.ExitQueue
	case errors.Is(err, gpu.ErrDevice), errors.Is(err, decode.ErrDevice):
		return contract.ExitDevice
	case errors.Is(err, encode.ErrOutput), errors.Is(err, syscall.EPIPE), isWrite(err):
		return contract.ExitOutput
	case errors.Is(err, encode.ErrDamaged): // before the input, whose damage may be the cause
		return contract.ExitDamaged
	case errors.Is(err, decode.ErrUnreadable):
		return contract.ExitInput
	}
	return contract.ExitFailed
}

// Cause names the cause of an error for programs, as contract.Done has it; "" for most.
func Cause(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return contract.CauseNoSpace
	case errors.Is(err, gpu.ErrNVENCFull):
		return contract.CauseSession
	case errors.Is(err, gpu.ErrNVENCLacks):
		return contract.CauseNVENC
	}
	return ""
}

// isWrite reports whether printing failed: package os names the operation.
func isWrite(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write"
}
