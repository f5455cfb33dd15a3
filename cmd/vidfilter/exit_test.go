package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/queue/jetstream"
)

func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{context.Canceled, 1},
		{usagef("hint", "x"), 2},
		{fmt.Errorf("wrapped: %w", usagef("hint", "x")), 2},
		{fmt.Errorf("decode: %w", decode.ErrUnreadable), 3},
		{fmt.Errorf("encode: %w", encode.ErrOutput), 4},
		{fmt.Errorf("write: %w", syscall.EPIPE), 4},
		{fmt.Errorf("info: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}), 4},
		{fmt.Errorf("info: %w", &fs.PathError{Op: "read", Path: "/dev/stdin", Err: syscall.EIO}), 1},
		{fmt.Errorf("gpu: %w", gpu.ErrDevice), 5},
		{fmt.Errorf("check: %w", encode.ErrDamaged), 6},
		{fmt.Errorf("check: %w: %w", decode.ErrUnreadable, encode.ErrDamaged), 6},
		{fmt.Errorf("worker: %w", new(jetstream.Error)), 7},
		{interruption{syscall.SIGINT}, 130},
		{interruption{syscall.SIGTERM}, 143},
		{interruption{syscall.SIGHUP}, 143},
		{fmt.Errorf("%w: %w", encode.ErrOutput, interruption{syscall.SIGINT}), 130},
	}
	for _, test := range tests {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("exitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}

func TestPrintError(t *testing.T) {
	var b strings.Builder
	printError(&b, usagef("look\nthere", "no file \x1b[31m\"a\u202eb\""))
	want := "vidfilter: no file \\u001b[31m\"a\\u202eb\"\nhint: look\\u000athere\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
