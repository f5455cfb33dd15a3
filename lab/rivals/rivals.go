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

	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

//go:embed opencv.py
var script string

// openCV is a process of opencv.py with one frame, nil if it could not start.
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
	_, _ = in.Write(raw(src)) // if the script died, reading the next line fails
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

// measure returns the time of one frame.
func (c *openCV) measure(threads int, p kernels.Params) (time.Duration, error) {
	frames := 3
	if p.Radius < 3 {
		frames = 10
	}
	fmt.Fprintln(c.in, threads, p.Radius, p.SigmaR, p.SigmaS, frames)
	line, err := c.out.ReadString('\n')
	if err != nil {
		return 0, errors.New("opencv.py ended")
	}
	ms, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return milliseconds(ms), err
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func (c *openCV) stop() {
	if c == nil {
		return
	}
	c.in.Close()
	_ = c.cmd.Wait()
}

// raw returns the samples of a frame without padding.
func raw(f *pipeline.Frame) (b []byte) {
	for i, y := range f.Rows() {
		b = append(b, f.Row(i, y)...)
	}
	return b
}

// ffmpegRow measures FFmpeg's bilateral beside ours at radius 1 and returns the cells.
func ffmpegRow(o options, src *pipeline.Frame, threads int) ([]string, error) {
	mine, theirs, err := compareFFmpeg(o, src, threads)
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprint(threads), "1", fmt.Sprintf("%.3f", mine), "", "", fmt.Sprintf("%.3f", theirs), "",
		fmt.Sprintf("%.2f", theirs/mine), "(FFmpeg's bilateral=sigmaS=1:planes=7)"}, nil
}

// compareFFmpeg returns both medians in milliseconds.
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
	medians, err := alternate(o.runs, ours.measure, func() (time.Duration, error) {
		with, err := ffmpeg(o, file, src, threads, "bilateral=sigmaS=1:sigmaR=0.08:planes=7")
		if err != nil {
			return 0, err
		}
		without, err := ffmpeg(o, file, src, threads, "null")
		return with - without, err
	})
	if err != nil {
		return 0, 0, err
	}
	return medians[0], medians[1], nil
}

// ffmpeg returns the time of one of many frames through a filter.
func ffmpeg(o options, file string, src *pipeline.Frame, threads int, filter string) (time.Duration, error) {
	const frames = 10
	n := strconv.Itoa(threads)
	cmd := exec.Command(o.ffmpeg, "-v", "error", "-stream_loop", "-1", "-f", "rawvideo", "-pix_fmt", "yuv420p",
		"-s", fmt.Sprintf("%dx%d", src.Width, src.Height), "-threads", n, "-i", file,
		"-filter_threads", n, "-vf", filter, "-frames:v", strconv.Itoa(frames), "-f", "null", "-")
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return time.Since(start) / frames, nil
}

// bound prints how close the filter comes to the limit of the core. The multiply-adds,
// multiplications and reciprocals of a tap compete for the same two units of AMD and Intel cores,
// so these operations alone set the limit.
func bound(o options) error {
	cpu, err := kernels.NewCPU(1, o.isa)
	if err != nil {
		return err
	}
	defer cpu.Close()
	lanes, perSecond := cpu.MultiplyAdds()
	t := text.NewTable(0, "r", "bound ms", "ours ms", "share")
	src := picture(sizes[0])
	for _, r := range []int{1, 2, 3, 5, 7, 10, 15} {
		say("the bound at radius %d", r)
		ms, err := median(o, r, src)
		if err != nil {
			return err
		}
		operations := kernels.MultipliesPerTap * float64(square(r)*src.Width*src.Height) / float64(lanes)
		b := operations / perSecond * 1000
		t.Add(fmt.Sprint(r), fmt.Sprintf("%.3f", b), fmt.Sprintf("%.3f", ms), fmt.Sprintf("%.0f%%", 100*b/ms))
	}
	fmt.Printf("\nbound: %s, %.2f G vector multiply-adds a second measured, %d pixels a vector (%s)\n%s",
		cpu.Name(), perSecond/1e9, lanes, runtime.GOARCH, t)
	return nil
}

// median returns the milliseconds of a frame on one thread.
func median(o options, radius int, src *pipeline.Frame) (float64, error) {
	ours, err := newOurs(o.isa, 1, kernels.DefaultParams(radius), src)
	if err != nil {
		return 0, err
	}
	defer ours.close()
	medians, err := alternate(o.runs, ours.measure)
	if err != nil {
		return 0, err
	}
	return medians[0], nil
}
