// Rivals times the CPU filter beside OpenCV's bilateralFilter and FFmpeg's bilateral. The runs
// alternate, so that other load on the machine affects all of them alike.
//
// It needs a python3 with cv2 and numpy, and the ffmpeg program, and skips those that are missing.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"vidfilter/gpu"
	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
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
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
}

type options struct {
	runs                int
	isa, python, ffmpeg string
}

var sizes = []measure.Size{{Width: 1920, Height: 1080}, {Width: 3840, Height: 2160}}

const notes = `
ms is one frame, yuv420p planes to planes for ours, BGR to BGR for OpenCV; medians of alternating runs.
Windows differ: ours is the square of (2r+1)^2 pixels, OpenCV's the circle in it (5, 13, 81 taps at r = 1, 2, 5).
ns/tap divides by each one's own taps. "ratio" is OpenCV's time of a frame over ours: above 1 we are faster.
FFmpeg's filter is a recursive approximation whose time does not grow with its sigma; its time is that of
"ffmpeg -vf bilateral" over the same frames less that of "-vf null".
`

func run(o options) error {
	if err := printMachine(); err != nil {
		return err
	}
	for _, size := range sizes {
		if err := runSize(o, picture(size)); err != nil {
			return err
		}
	}
	fmt.Print(notes)
	return bound(o)
}

func printMachine() error {
	places, err := measure.Open(true, nil, false)
	if err != nil {
		return err
	}
	defer places.Close()
	m := places.Machine
	fmt.Printf("%s, %d cores, %s/%s %s\n", m.CPU, m.Cores, runtime.GOOS, runtime.GOARCH, runtime.Version())
	return nil
}

func picture(s measure.Size) *pipeline.Frame {
	return measure.Picture(measure.FormatOf(pipeline.YUV420P, s))
}

func runSize(o options, src *pipeline.Frame) error {
	cv, err := startOpenCV(o.python, src)
	if err != nil {
		fmt.Println("no OpenCV:", err)
	}
	defer cv.stop()
	t := text.NewTable(0, "threads", "r", "ours ms", "ns/px", "ns/tap", "OpenCV ms", "ns/tap", "ratio", "")
	t.Columns[len(t.Columns)-1] = text.Column{Whole: true}
	t.Empty, t.Sparse = "", true
	for _, threads := range slices.Compact([]int{1, runtime.GOMAXPROCS(0)}) {
		for _, radius := range []int{1, 2, 5} {
			say("%dx%d, radius %d, threads: %d", src.Width, src.Height, radius, threads)
			cells, err := row(o, src, cv, threads, radius)
			if err != nil {
				return err
			}
			t.Add(cells...)
		}
		say("%dx%d, FFmpeg, threads: %d", src.Width, src.Height, threads)
		cells, err := ffmpegRow(o, src, threads)
		if err != nil {
			fmt.Println("no FFmpeg:", err)
			continue
		}
		t.Add(cells...)
	}
	fmt.Printf("\n%dx%d yuv420p, OpenCV %s\n%s", src.Width, src.Height, cv.version(), t)
	return nil
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "measuring: "+format+"\n", args...) }

// row measures one radius and returns its cells.
func row(o options, src *pipeline.Frame, cv *openCV, threads, radius int) ([]string, error) {
	p := kernels.DefaultParams(radius)
	ours, err := newOurs(o.isa, threads, p, src)
	if err != nil {
		return nil, err
	}
	defer ours.close()
	rivals := []func() (time.Duration, error){ours.measure}
	if cv != nil {
		rivals = append(rivals, func() (time.Duration, error) { return cv.measure(threads, p) })
	}
	medians, err := alternate(o.runs, rivals...)
	if err != nil {
		return nil, err
	}
	perPixel := 1e6 / float64(src.Width*src.Height)
	m := medians[0]
	cells := []string{fmt.Sprint(threads), fmt.Sprint(radius), fmt.Sprintf("%.3f", m), fmt.Sprintf("%.3f", m*perPixel),
		fmt.Sprintf("%.4f", m*perPixel/float64(square(radius))), "", "", "", ""}
	if cv != nil {
		t := medians[1]
		cells[5], cells[6] = fmt.Sprintf("%.3f", t), fmt.Sprintf("%.4f", t*perPixel/float64(circle(radius)))
		cells[7] = fmt.Sprintf("%.2f", t/m)
	}
	return cells, nil
}

// alternate runs each in turn, several times over, and returns their medians in milliseconds.
func alternate(runs int, all ...func() (time.Duration, error)) (medians []float64, err error) {
	times := make([][]time.Duration, len(all))
	for range runs {
		for i, run := range all {
			t, err := run()
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
	}
	for _, t := range times {
		medians = append(medians, measure.StatOf(t).Median)
	}
	return medians, nil
}

// square and circle count the taps of the two window shapes.
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

// ours is this program's filter fed with one frame.
type ours struct {
	cpu    *kernels.CPU
	feeder *measure.Feeder
}

func newOurs(isa string, threads int, p kernels.Params, src *pipeline.Frame) (*ours, error) {
	cpu, err := kernels.NewCPU(threads, isa)
	if err != nil {
		return nil, err
	}
	f, err := measure.NewFeeder(cpu, p, src)
	if err != nil {
		cpu.Close()
		return nil, err
	}
	return &ours{cpu, f}, nil
}

// measure returns the time of a frame, over about 200 ms.
func (o *ours) measure() (time.Duration, error) {
	times, err := o.feeder.Measure(context.Background(), gpu.Repeat{Batches: 1, Runs: math.MaxInt, Time: 200 * time.Millisecond})
	if err != nil {
		return 0, err
	}
	return times[0], nil
}

func (o *ours) close() {
	o.feeder.Close()
	o.cpu.Close()
}
