package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"vidfilter/decode"
	"vidfilter/kernels"
	"vidfilter/metrics"
	"vidfilter/pipeline"
)

// clip is a video to read and how.
type clip struct {
	path string
	opts decode.Options
}

// compareVideos measures b against a, frame by frame in order. Both must have the same number of frames,
// size and layout; what they say of colour does not matter.
func compareVideos(ctx context.Context, a, b clip) (metrics.Score, error) {
	cpu, err := kernels.NewCPU(1, "")
	if err != nil {
		return metrics.Score{}, err
	}
	defer cpu.Close()
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	x, err := decode.Open(ctx, a.path, pool, a.opts)
	if err != nil {
		return metrics.Score{}, err
	}
	defer x.Close()
	y, err := decode.Open(ctx, b.path, pool, b.opts)
	if err != nil {
		return metrics.Score{}, err
	}
	defer y.Close()
	var sum metrics.Accumulator
	for {
		more, err := compareNext(ctx, &sum, x, y)
		if err != nil {
			return metrics.Score{}, err
		}
		if !more {
			return sum.Score(), nil
		}
	}
}

func compareNext(ctx context.Context, sum *metrics.Accumulator, x, y *decode.Input) (more bool, err error) {
	f, ferr := x.Next(ctx)
	if ferr != nil && ferr != io.EOF {
		return false, ferr
	}
	if f != nil {
		defer f.Release()
	}
	g, gerr := y.Next(ctx)
	if gerr != nil && gerr != io.EOF {
		return false, gerr
	}
	if g != nil {
		defer g.Release()
	}
	switch {
	case f == nil && g == nil:
		return false, nil
	case f == nil || g == nil:
		return false, fmt.Errorf("one video ends after %d frames, the other goes on", sum.Frames())
	}
	g.Matrix, g.FullRange = f.Matrix, f.FullRange
	return true, sum.Add(f, g)
}

// runCompare prints PSNR and SSIM of two videos.
func runCompare(args []string, stdout io.Writer) error {
	if len(args) != 2 {
		return usagef("vidfilter compare clean.mp4 filtered.mp4", "compare takes two files")
	}
	score, err := compareVideos(context.Background(), clip{path: args[0]}, clip{path: args[1]})
	if err != nil {
		if errors.Is(err, decode.ErrUnreadable) {
			return err
		}
		return fmt.Errorf("compare %s and %s: %w", args[0], args[1], err)
	}
	_, err = fmt.Fprintln(stdout, score)
	return err
}

// cpuDescription is one line on the CPU path: its instruction set and threads.
func cpuDescription() string {
	cpu, err := kernels.NewCPU(0, "")
	if err != nil {
		return err.Error()
	}
	defer cpu.Close()
	return cpu.Name()
}
