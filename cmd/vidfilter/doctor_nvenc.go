package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tasks"
	"vidfilter/encode/video"
	"vidfilter/gpu"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

// nvencTrial tests NVENC by jobs of a program, each in a process of its own, so that a crash ends
// one test only.
type nvencTrial struct {
	program  tasks.Program
	settings []string // options to test with each codec; see nvencSettings
	out      io.Writer
}

// nvencSettings are options for jobs with NVENC. Those with -r 0 upload frames, as the CPU filters
// do. The others leave them on the GPU.
func nvencSettings() []string {
	all := []string{"-r 0", "-r 1", "-r 1 --device cpu", "--quality fast"}
	for _, p := range video.CodecOf("hevc_nvenc").Presets {
		if strings.HasPrefix(p, "p") || strings.Contains(p, "slow") { // the others are one of these by another name
			all = append(all, "-r 0 --preset "+p)
		}
	}
	for _, t := range video.CodecOf("hevc_nvenc").Tunes {
		all = append(all, "-r 0 --tune "+t)
	}
	for _, more := range []string{
		"--crf 30", "--bitrate 1M", "--gop 1", "--gop 4", "--encoder-params rc=cbr --bitrate 1M", "--encoder-params qp=23",
		"--encoder-params spatial-aq=1", "--encoder-params temporal-aq=1", "--encoder-params multipass=fullres",
		"--encoder-params bf=0", "--encoder-params bf=2:b_ref_mode=middle", "--encoder-params bf=0:weighted_pred=1",
	} {
		all = append(all, "-r 0 "+more)
	}
	return all
}

// tryNVENC is vidfilter doctor --nvenc.
func (a *app) tryNVENC(mode string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	ctx, stop := terminal.UntilSignal()
	defer stop()
	ours := func(v string) bool { return strings.HasPrefix(v, "VIDFILTER_") } // would be options of all tests
	t := nvencTrial{tasks.Program{Path: self, Env: slices.DeleteFunc(slices.Clone(a.Env), ours), Stall: 2 * time.Minute}, nvencSettings(), a.Out}
	if mode = job.SandboxMode(mode, a.Env); mode != "" {
		t.program.Args = []string{"--sandbox", mode}
	}
	return terminal.WhyCancelled(ctx, t.run(ctx))
}

// run prints a report on the first GPU that encodes. A test that fails is an error.
func (t nvencTrial) run(ctx context.Context) error {
	device, kinds, err := t.choose()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "vidfilter-doctor-")
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	defer os.RemoveAll(dir)
	start, tests, failed := time.Now(), 0, 0
	for _, kind := range kinds {
		clip := filepath.Join(dir, "clip.y4m")
		if err := os.WriteFile(clip, trialClip(kind), 0o600); err != nil {
			return fmt.Errorf("doctor: %w", err)
		}
		codec := video.CodecOf(kind.Codec + "_nvenc")
		for _, options := range t.settings {
			if _, tune, is := strings.Cut(options, "--tune "); is && !slices.Contains(codec.Tunes, tune) || ctx.Err() != nil {
				continue
			}
			args := append([]string{"--encoder", codec.Name, "--device", device.String()}, strings.Fields(options)...)
			result, err := t.try(ctx, kind, args, clip, filepath.Join(dir, "out.mkv"))
			if tests++; err != nil {
				failed++
				result = "FAILED: " + cli.WithHint(err)
			}
			if _, err := fmt.Fprintf(t.out, "%-16s %-48s %s\n", kind.Codec+" "+pixelFormat(kind), options, text.OneLine(result)); err != nil {
				return err
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "%d of %d tests passed, after %v\n", tests-failed, tests, time.Since(start).Round(time.Second))
	if err == nil && failed > 0 {
		err = hint.Says(fmt.Sprintf("%d of %d tests of NVENC failed", failed, tests), "docs/nvenc.md says what to send us")
	}
	return err
}

// choose describes the machine, and returns the first GPU that encodes, with its codecs.
func (t nvencTrial) choose() (d gpu.Device, kinds []gpu.Coding, err error) {
	driver, _ := os.ReadFile("/proc/driver/nvidia/version")
	version, _, _ := strings.Cut(string(driver), "\n")
	lines := []string{"vidfilter " + cli.Version() + ", " + sandbox.System()}
	devices, err := gpu.Devices()
	if err == nil {
		lines = append(lines, "driver: "+cmp.Or(version, "unknown")+", CUDA "+gpu.DriverVersion())
		err = hint.Says("no GPU can be used", "vidfilter devices says why", gpu.ErrDevice)
	}
	for _, device := range devices {
		lines = append(lines, describeGPU(device))
		if kinds != nil || device.Usable() != nil {
			continue
		}
		d = device
		if kinds, err = d.Encodes(); err == nil && len(kinds) == 0 {
			err = hint.Says(d.Name+" encodes nothing", "vidfilter devices lists what each GPU encodes", gpu.ErrDevice)
		}
		lines = append(lines, describeCoding(d, "encodes", kinds, err))
	}
	_, failed := fmt.Fprintln(t.out, strings.Join(lines, "\n"))
	return d, kinds, cmp.Or(err, failed)
}

// try runs a job, decodes its output on the CPU and compares it with the clip.
func (t nvencTrial) try(ctx context.Context, kind gpu.Coding, args []string, clip, out string) (result string, err error) {
	args = append(args, "--hwaccel", "nvenc", "-y", "-i", clip, "-o", out)
	done, err := t.program.Media(ctx, args, func(queue.Progress) {})
	if err != nil {
		return "", hint.Wrap(fmt.Errorf("exit code %d: %w", done.ExitCode, err), done.Hint)
	}
	info, err := inspect(ctx, out, false)
	if err != nil {
		return "", err
	}
	video := info.Streams[0]
	if want := pixelFormat(kind); video.Codec != kind.Codec || video.PixFmt != want {
		return "", fmt.Errorf("the output is %s of %s, not %s of %s", video.Codec, video.PixFmt, kind.Codec, want)
	}
	score, err := job.CompareVideos(ctx, job.Clip{Path: clip}, job.Clip{Path: out})
	if err != nil {
		return "", err
	}
	result = fmt.Sprintf("%.1f dB, %s", score.PSNR(), text.Size(done.Size))
	least := 30. // the least similarity of a coded picture that is right
	if slices.Contains(args, "lossless") {
		least = math.Inf(1)
	}
	if score.PSNR() < least {
		return "", fmt.Errorf("%s, less than %.0f dB", result, least)
	}
	return strings.Join(append([]string{result}, done.Warnings...), "; "), nil
}

// pixelFormat is FFmpeg's name for frames of a kind.
func pixelFormat(k gpu.Coding) string {
	name := fmt.Sprintf("yuv%dp", k.Chroma)
	if k.Depth > 8 {
		name += fmt.Sprintf("%dle", k.Depth)
	}
	return name
}

// trialClip is a YUV4MPEG2 file of moving slopes and a little noise, in a kind's format.
func trialClip(k gpu.Coding) []byte {
	const width, height, frames = 320, 192, 12
	tag := fmt.Sprint(k.Chroma)
	if k.Depth > 8 {
		tag += fmt.Sprintf("p%d", k.Depth)
	}
	b := fmt.Appendf(nil, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s\n", width, height, tag)
	noise := uint32(1)
	for n := range frames {
		b = append(b, "FRAME\n"...)
		for i := range 3 {
			w, h := width, height
			if i > 0 && k.Chroma == 420 {
				w, h = w/2, h/2
			}
			for at := range w * h {
				noise = noise*1664525 + 1013904223
				v := (60+(at%w*(2-i)+at/w*(i+1)+4*n)%120)<<(k.Depth-8) + int(noise>>30)
				if b = append(b, byte(v)); k.Depth > 8 {
					b = append(b, byte(v>>8))
				}
			}
		}
	}
	return b
}
