// Package livetest makes pictures for the tests of packages that show and record them, and reads
// files with FFmpeg's programs.
package livetest

import (
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Camera makes pairs of pictures that move.
type Camera struct {
	tb     testing.TB
	pool   *pipeline.Pool
	Format pipeline.Format
}

// NewCamera returns a camera. When the test ends, every frame must have been released.
func NewCamera(tb testing.TB, format pipeline.Format) *Camera {
	tb.Helper()
	return &Camera{tb, Pool(tb, 64), format}
}

// Pool returns a pool on the CPU. When the test ends, every frame must have been released.
func Pool(tb testing.TB, frames int) *pipeline.Pool {
	tb.Helper()
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(tb, err)
	pool := pipeline.NewPool(cpu, frames)
	tb.Cleanup(func() {
		if n := pool.InUse(); n != 0 {
			tb.Errorf("%d blocks are still out", n)
		}
		pool.Close()
		_ = cpu.Close()
	})
	return pool
}

// WantFiles checks that a folder holds the named entries, in order, and no others.
func WantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	e2e.Must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

// Frame returns a frame of the given samples.
func (c *Camera) Frame(value func(plane, x, y int) byte) *pipeline.Frame {
	c.tb.Helper()
	f, err := c.pool.NewFrame(context.Background(), c.Format)
	e2e.Must(c.tb, err)
	scene.EachSample(f, value)
	return f
}

// Pair is picture n: waves that move, with grain in the original and without in the filtered one.
func (c *Camera) Pair(n int) (original, filtered *pipeline.Frame) {
	side := max(c.Format.Width, c.Format.Height) * 4 // bytes of RGBA
	var across, down [3][]float64
	for plane := range 3 {
		across[plane], down[plane] = make([]float64, side), make([]float64, side)
		for i, k := 0, 0.02*float64(1+plane); i < side; i++ {
			across[plane][i], down[plane][i] = 60*math.Sin(k*float64(i+3*n)), math.Cos(k*float64(i-2*n))
		}
	}
	seed := uint32(n + 1)
	original = c.Frame(func(plane, x, y int) byte {
		seed = seed*1664525 + 1013904223
		return byte(120 + across[plane][x]*down[plane][y] + float64(seed>>28))
	})
	filtered = c.Frame(func(plane, x, y int) byte { return byte(128 + across[plane][y]*down[plane][x]) })
	return original, filtered
}

// YUV420 is the usual format.
func YUV420(w, h int) pipeline.Format {
	return pipeline.Format{Layout: pipeline.YUV420P, Width: w, Height: h, Matrix: pipeline.BT709}
}

// Program runs one of FFmpeg's programs, or skips the test if it is missing.
func Program(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	e2e.Needs(t, name)
	out, said, err := e2e.Output(name, args...)
	if err != nil || len(said) > 0 {
		t.Errorf("%s: %v: %s", name, err, said)
	}
	return out
}

// ShownAt returns the display times of a file's frames, in seconds.
func ShownAt(t *testing.T, path string) (times []float64) {
	t.Helper()
	out := Program(t, "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pts_time", "-of", "csv=p=0", path)
	for _, line := range strings.Fields(string(out)) {
		s, err := strconv.ParseFloat(strings.Trim(line, ","), 64)
		e2e.Must(t, err)
		times = append(times, s)
	}
	return times
}

// Boxes returns the names of data's MP4 boxes.
func Boxes(t *testing.T, data []byte) (names []string) {
	t.Helper()
	for len(data) >= 8 {
		size := int(data[0])<<24 | int(data[1])<<16 | int(data[2])<<8 | int(data[3])
		if size < 8 || size > len(data) {
			t.Fatalf("a box of %d bytes in %d", size, len(data))
		}
		names = append(names, string(data[4:8]))
		data = data[size:]
	}
	if len(data) > 0 {
		t.Errorf("%d bytes follow the boxes", len(data))
	}
	return names
}
