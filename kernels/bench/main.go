// Bench measures the CPU filter against OpenCV's bilateralFilter and FFmpeg's bilateral, alternating
// between them in one run, so that a machine that others use too is fair to all.
//
// It needs a python3 that has cv2 and numpy, and the ffmpeg program; what is missing is left out and said.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

func main() {
	o := options{}
	flag.IntVar(&o.runs, "runs", 5, "alternating runs; the median counts")
	flag.StringVar(&o.isa, "isa", "", "instruction set of the CPU filter (default: the fastest)")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "a python3 that has cv2")
	flag.StringVar(&o.ffmpeg, "ffmpeg", "ffmpeg", "the ffmpeg program")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	runs                int
	isa, python, ffmpeg string
}

var sizes = [][2]int{{1920, 1080}, {3840, 2160}}

// The ten and more columns are explained once, below the table.
const notes = `
ms is one frame, yuv420p planes to planes for ours, BGR to BGR for OpenCV; medians of alternating runs.
Windows differ: ours is the square of (2r+1)^2 pixels, OpenCV's the circle in it (5, 13, 81 taps at r = 1, 2, 5).
ns/tap divides by each one's own taps. "ratio" is OpenCV's time of a frame over ours: above 1 we are faster.
FFmpeg's filter is a recursive approximation whose time does not grow with its sigma; its time is that of
"ffmpeg -vf bilateral" over the same frames less that of "-vf null".
`

func run(o options) error {
	fmt.Println(cpuModel(), runtime.GOOS+"/"+runtime.GOARCH, runtime.Version())
	for _, size := range sizes {
		if err := runSize(o, size[0], size[1]); err != nil {
			return err
		}
	}
	fmt.Print(notes)
	return bound(o)
}

func runSize(o options, width, height int) error {
	src := scene(width, height)
	cv, err := startOpenCV(o.python, src)
	if err != nil {
		fmt.Println("no OpenCV:", err)
	}
	defer cv.stop()
	fmt.Printf("\n%dx%d yuv420p, OpenCV %s\n", width, height, cv.version())
	fmt.Printf("%7s %2s | %9s %8s %8s | %9s %8s | %6s\n", "threads", "r", "ours ms", "ns/px", "ns/tap", "OpenCV ms", "ns/tap", "ratio")
	for _, threads := range threadCounts() {
		for _, radius := range []int{1, 2, 5} {
			if err := row(o, src, cv, threads, radius); err != nil {
				return err
			}
		}
		ffmpegRow(o, src, threads)
	}
	return nil
}

func threadCounts() []int {
	if n := runtime.NumCPU(); n > 1 {
		return []int{1, n}
	}
	return []int{1}
}

// row prints one line of the table.
func row(o options, src *pipeline.Frame, cv *openCV, threads, radius int) error {
	ours, err := newOurs(o.isa, threads, kernels.DefaultParams(radius), src)
	if err != nil {
		return err
	}
	defer ours.close()
	var mine, theirs []float64
	for range o.runs {
		ms, err := ours.measure()
		if err != nil {
			return err
		}
		mine = append(mine, ms)
		if cv == nil {
			continue
		}
		if ms, err = cv.measure(threads, kernels.DefaultParams(radius)); err != nil {
			return err
		}
		theirs = append(theirs, ms)
	}
	pixels := float64(src.Width * src.Height)
	m := median(mine)
	fmt.Printf("%7d %2d | %9.3f %8.3f %8.4f |", threads, radius, m, m*1e6/pixels, m*1e6/pixels/float64(square(radius)))
	if cv == nil {
		fmt.Println()
		return nil
	}
	t := median(theirs)
	fmt.Printf(" %9.3f %8.4f | %6.2f\n", t, t*1e6/pixels/float64(circle(radius)), t/m)
	return nil
}

// square and circle are the taps of the two kinds of windows.
func square(r int) int { return (2*r + 1) * (2*r + 1) }

func circle(r int) (n int) {
	for y := -r; y <= r; y++ {
		for x := -r; x <= r; x++ {
			if x*x+y*y <= r*r {
				n++
			}
		}
	}
	return n
}

// ours is the filter of this project at work on one frame.
type ours struct {
	cpu    *kernels.CPU
	pool   *pipeline.Pool
	filter pipeline.Filter
	src    *pipeline.Frame
}

func newOurs(isa string, threads int, p kernels.Params, src *pipeline.Frame) (o *ours, err error) {
	o = &ours{src: src}
	if o.cpu, err = kernels.NewCPU(threads, isa); err != nil {
		return nil, err
	}
	o.pool = pipeline.NewPool(o.cpu, 1)
	if o.filter, err = o.cpu.Filter(p, o.pool); err != nil {
		return nil, err
	}
	return o, o.frame() // the first touch of memory is no one's time
}

func (o *ours) frame() error {
	return o.filter.Process(context.Background(), o.src.Retain(), func(f *pipeline.Frame) error {
		f.Release()
		return nil
	})
}

// measure returns the milliseconds of one frame, over at least 200 ms.
func (o *ours) measure() (float64, error) {
	start := time.Now()
	for n := 1; ; n++ {
		if err := o.frame(); err != nil {
			return 0, err
		}
		if t := time.Since(start); t > 200*time.Millisecond {
			return t.Seconds() * 1000 / float64(n), nil
		}
	}
}

func (o *ours) close() {
	o.pool.Close()
	o.cpu.Close()
}

// scene is a picture of slopes, edges and discs with noise on all of it, in yuv420p.
func scene(width, height int) *pipeline.Frame {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: width, Height: height, Matrix: pipeline.BT709}
	offsets, pitches, size := format.PlanLayout(0)
	block := make([]byte, size)
	var planes [4]pipeline.Plane
	seed := uint32(1)
	for i := range 3 {
		w, rows := format.PlaneSize(i)
		planes[i] = pipeline.Plane{Data: block[offsets[i] : offsets[i]+pitches[i]*rows], Pitch: pitches[i]}
		for y := range rows {
			for x := range w {
				seed = seed*1664525 + 1013904223
				v := 50 + 20*i + 80*x/w + 30*y/rows
				if dx, dy := x%97-48, y%83-41; dx*dx+dy*dy < 900 || x/160%3 == 0 && y/120%2 == 0 {
					v += 55
				}
				planes[i].Data[y*pitches[i]+x] = byte(v + int(seed>>24)%21 - 10)
			}
		}
	}
	return pipeline.NewFrame(format, planes, nil, nil)
}

func median(x []float64) float64 {
	slices.Sort(x)
	if len(x)%2 == 0 {
		return (x[len(x)/2-1] + x[len(x)/2]) / 2
	}
	return x[len(x)/2]
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value) + fmt.Sprintf(", %d cores,", runtime.NumCPU())
		}
	}
	return fmt.Sprintf("%d cores,", runtime.NumCPU())
}
