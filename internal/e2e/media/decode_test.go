package media

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/internal/av"
	"vidfilter/kernels"
	"vidfilter/pipeline"

	"vidfilter/internal/e2e"
)

func init() { av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {}) }

// hashes decodes a file with package decode and returns the MD5 of every frame's samples.
func hashes(t *testing.T, path string, threads int) (list []string, layout pipeline.Layout) {
	t.Helper()
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	in, err := decode.Open(context.Background(), path, pool, decode.Options{Threads: threads})
	e2e.Must(t, err)
	defer in.Close()
	for {
		f, err := in.Next(context.Background())
		if err == io.EOF {
			return list, layout
		}
		e2e.Must(t, err)
		sum := md5.New()
		for i, y := range f.Rows() {
			sum.Write(f.Row(i, y))
		}
		list, layout = append(list, fmt.Sprintf("%x", sum.Sum(nil))), f.Layout
		f.Release()
	}
}

// The decoded frames equal ffmpeg's bit for bit, with one thread and with four.
// TestConvertedFormats covers formats that are converted.
func TestFramesAreThoseOfFFmpeg(t *testing.T) {
	for i, in := range inputs {
		t.Run(in.name+"."+in.ending, func(t *testing.T) {
			e2e.Start(t, i%6 == 0)
			src := clip(t, in.name+"."+in.ending, in.args)
			got, layout := hashes(t, src, 1)
			many, _ := hashes(t, src, 4)
			if !slices.Equal(got, many) {
				t.Error("four threads decode other frames than one")
			}
			if pf := strings.Replace(probe(t, src).video(t).PixFmt, "yuvj", "yuv", 1); pf != layout.String() {
				return
			}
			if want, _ := decodedHashes(src); !slices.Equal(got, want) {
				t.Errorf("frames\n%v instead of\n%v", got, want)
			}
		})
	}
}

// resident returns the memory that this process has in RAM, in kilobytes.
func resident(t *testing.T) int {
	t.Helper()
	runtime.GC()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	pages, _ := strconv.Atoi(strings.Fields(string(data))[1])
	return pages * os.Getpagesize() / 1024
}

// Opening, decoding and closing again and again does not grow the process.
func TestDecodingLeaksNothing(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	if testing.Short() {
		t.Skip("-short")
	}
	for _, in := range inputs { // not in parallel: others would be in the numbers
		switch in.name + "." + in.ending {
		case "h264.mp4", "vp9.webm", "prores.mov", "h264.ts":
			src := clip(t, in.name+"."+in.ending, in.args)
			for range 40 { // caches fill, and malloc's arenas of the decoder's threads
				hashes(t, src, 2)
			}
			before := resident(t)
			for range 80 {
				hashes(t, src, 2)
			}
			// A frame is 9 kB: a leak of each run's frames is 14 MB. Malloc's arenas vary by 6.
			if grown := resident(t) - before; grown > 10240 {
				t.Errorf("%s.%s: %d kB more after 80 times", in.name, in.ending, grown)
			}
		}
	}
}
