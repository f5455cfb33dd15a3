package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	_ "embed"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

//go:embed opencv.py
var script string

// openCV is a process of opencv.py that holds one frame. A nil openCV is one that could not start.
type openCV struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	number string // OpenCV's version
}

func startOpenCV(python string, src *pipeline.Frame) (*openCV, error) {
	cmd := exec.Command(python, "-c", script, strconv.Itoa(src.Width), strconv.Itoa(src.Height))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &openCV{cmd: cmd, in: in, out: bufio.NewReader(out)}
	_, _ = in.Write(raw(src)) // a script that died says so on the next line
	if c.number, err = c.out.ReadString('\n'); err != nil {
		c.stop()
		return nil, fmt.Errorf("%s cannot import cv2 and numpy (Debian: apt-get install python3-opencv)", python)
	}
	return c, nil
}

func (c *openCV) version() string {
	if c == nil {
		return "missing"
	}
	return strings.TrimSpace(c.number)
}

// measure returns the milliseconds of one frame.
func (c *openCV) measure(threads int, p kernels.Params) (float64, error) {
	frames := 3
	if p.Radius < 3 {
		frames = 10
	}
	fmt.Fprintln(c.in, threads, p.Radius, p.SigmaR, p.SigmaS, frames)
	line, err := c.out.ReadString('\n')
	if err != nil {
		return 0, errors.New("opencv.py ended")
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

func (c *openCV) stop() {
	if c == nil {
		return
	}
	c.in.Close()
	_ = c.cmd.Wait()
}

// raw returns the samples of a frame without padding.
func raw(f *pipeline.Frame) (b []byte) {
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		for y := range rows {
			b = append(b, f.Row(i, y)...)
		}
	}
	return b
}

// ffmpegRow prints FFmpeg's bilateral beside ours at radius 1.
func ffmpegRow(o options, src *pipeline.Frame, threads int) {
	mine, theirs, err := compareFFmpeg(o, src, threads)
	if err != nil {
		fmt.Println("no FFmpeg:", err)
		return
	}
	fmt.Printf("%7d  1 | %9.3f %17s | %9.3f %8s | %6.2f  (FFmpeg's bilateral=sigmaS=1:planes=7)\n",
		threads, mine, "", theirs, "", theirs/mine)
}

func compareFFmpeg(o options, src *pipeline.Frame, threads int) (mine, theirs float64, err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "frame.yuv")
	if err := os.WriteFile(file, raw(src), 0o600); err != nil {
		return 0, 0, err
	}
	ours, err := newOurs(o.isa, threads, kernels.DefaultParams(1), src)
	if err != nil {
		return 0, 0, err
	}
	defer ours.close()
	var a, b []float64
	for range o.runs {
		x, err := ours.measure()
		if err != nil {
			return 0, 0, err
		}
		with, err := ffmpeg(o, file, src, threads, "bilateral=sigmaS=1:sigmaR=0.08:planes=7")
		if err != nil {
			return 0, 0, err
		}
		without, err := ffmpeg(o, file, src, threads, "null")
		if err != nil {
			return 0, 0, err
		}
		a, b = append(a, x), append(b, with-without)
	}
	return median(a), median(b), nil
}

// ffmpeg returns the milliseconds that the program takes for one of many frames through a filter.
func ffmpeg(o options, file string, src *pipeline.Frame, threads int, filter string) (float64, error) {
	const frames = 10
	n := strconv.Itoa(threads)
	cmd := exec.Command(o.ffmpeg, "-v", "error", "-stream_loop", "-1", "-f", "rawvideo", "-pix_fmt", "yuv420p",
		"-s", fmt.Sprintf("%dx%d", src.Width, src.Height), "-threads", n, "-i", file,
		"-filter_threads", n, "-vf", filter, "-frames:v", strconv.Itoa(frames), "-f", "null", "-")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return time.Since(start).Seconds() * 1000 / frames, nil
}

// bound prints how near the filter comes to what the core can do: the multiply-adds, multiplications and
// reciprocals of a tap all need the same two units (on the AMD and Intel cores that were looked at), and those units
// have nothing to do but these.
func bound(o options) error {
	cpu, err := kernels.NewCPU(1, o.isa)
	if err != nil {
		return err
	}
	defer cpu.Close()
	lanes, perSecond := cpu.MultiplyAdds()
	fmt.Printf("\nbound: %s, %.2f G vector multiply-adds a second measured, %d pixels a vector (%s)\n",
		cpu.Name(), perSecond/1e9, lanes, runtime.GOARCH)
	fmt.Printf("%2s | %9s %9s %6s\n", "r", "bound ms", "ours ms", "share")
	src := scene(1920, 1080)
	for _, r := range []int{1, 2, 3, 5, 7, 10, 15} {
		ours, err := newOurs(o.isa, 1, kernels.DefaultParams(r), src)
		if err != nil {
			return err
		}
		var ms []float64
		for range o.runs {
			m, err := ours.measure()
			if err != nil {
				return err
			}
			ms = append(ms, m)
		}
		ours.close()
		operations := kernels.MultipliesPerTap * float64(square(r)) * 1920 * 1080 / float64(lanes)
		b := operations / perSecond * 1000
		fmt.Printf("%2d | %9.3f %9.3f %5.0f%%\n", r, b, median(ms), 100*b/median(ms))
	}
	return nil
}
