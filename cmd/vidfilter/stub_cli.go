package main

// TEMPORARY: everything in this file is a stand-in for job.go, info.go and the like. Delete it as they come.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
)

var errStub = errors.New("not built yet")

func filterFile(ctx context.Context, o *options, u *ui, stop <-chan struct{}) (result, error) {
	return result{}, errStub
}

func runInfo(args []string, stdout io.Writer) error { return errStub }

func runCompare(args []string, stdout io.Writer) error { return errStub }

// cpuDescription is one line on the CPU path: its instruction set and threads.
func cpuDescription() string { return fmt.Sprintf("%d threads", runtime.NumCPU()) }
