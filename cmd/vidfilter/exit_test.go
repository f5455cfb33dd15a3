package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"vidfilter/batch/queue/jetstream"
	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/target"
	"vidfilter/encode/video"
	"vidfilter/gpu"
	"vidfilter/internal/av"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{av.OfShortage(nil, fmt.Errorf("%w: %w: out of memory", video.ErrOption, decode.ErrUnreadable)), 1},
		{context.Canceled, 1},
		{cli.Usagef("hint", "x"), 2},
		{fmt.Errorf("wrapped: %w", cli.Usagef("hint", "x")), 2},
		{fmt.Errorf("decode: %w", decode.ErrUnreadable), 3},
		{fmt.Errorf("encode: %w", target.ErrOutput), 4},
		{fmt.Errorf("encode: %w: %w", target.ErrOutput, syscall.EPIPE), 141},
		{fmt.Errorf("info: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}), 141},
		{fmt.Errorf("write: %w", syscall.EPIPE), 4},
		{fmt.Errorf("info: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}), 4},
		{fmt.Errorf("info: %w", &fs.PathError{Op: "read", Path: "/dev/stdin", Err: syscall.EIO}), 1},
		{fmt.Errorf("gpu: %w", gpu.ErrDevice), 5},
		{fmt.Errorf("check: %w", encode.ErrDamaged), 6},
		{fmt.Errorf("check: %w: %w", decode.ErrUnreadable, encode.ErrDamaged), 6},
		{fmt.Errorf("worker: %w", new(jetstream.Error)), 7},
		{fmt.Errorf("worker: %w: %w", new(jetstream.Error), gpu.ErrDevice), 7},
		{hint.Says("x", "", encode.ErrDamaged), 6},
		{terminal.Interruption{Signal: syscall.SIGINT}, 130},
		{terminal.Interruption{Signal: syscall.SIGQUIT}, 131},
		{terminal.Interruption{Signal: syscall.SIGTERM}, 143},
		{terminal.Interruption{Signal: syscall.SIGHUP}, 143},
		{fmt.Errorf("%w: %w", target.ErrOutput, terminal.Interruption{Signal: syscall.SIGINT}), 130},
	}
	for _, test := range tests {
		if got := contract.ExitCode(test.err); got != test.want {
			t.Errorf("exitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}
