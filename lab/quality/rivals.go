package quality

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// rivals returns ffmpeg's denoisers, if the program is installed. Each has its defaults except the
// strength.
func rivals(ctx context.Context, program string) []method {
	if program == "" {
		return nil
	}
	list, err := exec.CommandContext(ctx, program, "-hide_banner", "-filters").Output()
	if err != nil {
		return nil
	}
	f := ffmpeg{program: program}
	f.idle = f.idleTime(ctx)
	ada := func(s float64) string {
		a, b := number(s), number(2*s)
		return "atadenoise=0a=" + a + ":1a=" + a + ":2a=" + a + ":0b=" + b + ":1b=" + b + ":2b=" + b
	}
	one := func(before string, after string) func(float64) string {
		return func(s float64) string { return before + number(s) + after }
	}
	all := []method{
		rival(f, NLMeans, 0, one("nlmeans=s=", ""), 1.25, 1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 21),
		rival(f, "hqdn3d", -1, one("hqdn3d=", ""), 0.5, 0.5, 1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 45, 60, 80, 120),
		rival(f, "fftdnoiz", 1, one("fftdnoiz=sigma=", ":prev=1:next=1"), 0.35, 0.5, 1, 2, 4, 6, 9, 12, 18, 24, 30),
		rival(f, "bm3d", 0, one("bm3d=sigma=", ""), 0.25, 1, 2, 4, 8, 14, 20, 28, 40, 56, 80, 110),
		rival(f, "vaguedenoiser", 0, one("vaguedenoiser=threshold=", ""), 0.4, 0.5, 1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 60, 80, 110),
		rival(f, "atadenoise", 4, ada, 60, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.12, 0.2, 0.3),
	}
	var there []method
	for _, m := range all {
		if strings.Contains(string(list), " "+m.name+" ") {
			there = append(there, m)
		}
	}
	return there
}

// rival is a filter of ffmpeg's; scale times a strength is about the sigma that it suits.
func rival(f ffmpeg, name string, reach int, filter func(float64) string, scale float64, strengths ...float64) method {
	m := method{name: name, reach: reach}
	var suits []float64
	for _, s := range strengths {
		m.strengths = append(m.strengths, filter(s))
		suits = append(suits, scale*s)
	}
	m.start = nearest(suits)
	m.run = func(ctx context.Context, in []*pipeline.Frame, strength string) (result, error) {
		return f.run(ctx, in, strength)
	}
	return m
}

// ffmpeg is the program, and the time that it needs to start and to read a clip.
type ffmpeg struct {
	program string
	idle    time.Duration
}

// idleTime measures.
func (f ffmpeg) idleTime(ctx context.Context) time.Duration {
	var in []*pipeline.Frame
	for range scene.ClipFrames {
		in = append(in, pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: width, Height: height}))
	}
	r, err := f.run(ctx, in, "null")
	if err != nil {
		return 0
	}
	return r.time
}

// run passes a clip through a filter on one thread, gray with chroma that has no colour. The fields
// of a frame are filtered together: ffmpeg's denoisers do not know fields.
func (f ffmpeg) run(ctx context.Context, in []*pipeline.Frame, filter string) (r result, err error) {
	format := in[0].Format
	info := format.Layout.Info()
	if info.Gray() {
		format.Layout = pipeline.YUV420P.At(info.Depth)
	}
	var raw, said, out bytes.Buffer
	samples := bufio.NewWriter(&raw)
	for _, frame := range in {
		if info.Gray() {
			frame = coloured(frame, format)
		}
		writeSamples(samples, frame)
	}
	if err := samples.Flush(); err != nil {
		return r, err
	}
	layout := format.Layout.String()
	cmd := exec.CommandContext(ctx, f.program, "-v", "error", "-threads", "1",
		"-f", "rawvideo", "-pix_fmt", layout, "-s", fmt.Sprintf("%dx%d", format.Width, format.Height), "-r", "24", "-i", "-",
		"-filter_threads", "1", "-vf", filter, "-f", "rawvideo", "-pix_fmt", layout, "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &raw, &out, &said
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%s -vf %s: %w: %s", f.program, filter, err, strings.TrimSpace(said.String()))
	}
	s := cmd.ProcessState
	r.time = max(s.UserTime()+s.SystemTime()-f.idle, 0)
	for _, frame := range in {
		g := pipeline.Blank(format)
		for i, y := range g.Rows() {
			if _, err := io.ReadFull(&out, g.Row(i, y)); err != nil {
				return r, fmt.Errorf("%s -vf %s: %d frames of %d", f.program, filter, len(r.frames), len(in))
			}
		}
		h := copyOf(frame)
		plane.Of(g, plane.Whole).Into(h, plane.Whole)
		r.frames = append(r.frames, h)
	}
	return r, nil
}

// coloured returns a gray frame in another format, with chroma that has no colour.
func coloured(f *pipeline.Frame, format pipeline.Format) *pipeline.Frame {
	out := pipeline.Blank(format)
	pic := plane.Of(out, plane.Whole)
	pic.Planes[0] = plane.Of(f, plane.Whole).Planes[0]
	for _, p := range pic.Planes[1:] {
		for i := range p.Pix {
			p.Pix[i] = uint16(1 << (p.Depth - 1))
		}
	}
	pic.Into(out, plane.Whole)
	return out
}
