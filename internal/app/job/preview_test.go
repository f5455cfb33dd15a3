package job

import (
	"image"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
)

// TestPreview: the samples are the job's own frames.
func TestPreview(t *testing.T) {
	var jobs []*Options
	for _, strength := range []string{"--strength=0.5", "--strength=1.5"} {
		o, err := Parse([]string{"-i", "../../../samples/noisy.mp4", "-o", "x.mp4", "--device=cpu", strength}, nil)
		e2e.Must(t, err)
		jobs = append(jobs, o)
	}
	p, err := PreviewOf(t.Context(), jobs[0].Unfiltered(), jobs, 1, terminal.NewUI(terminal.Stdio{}, terminal.UIOptions{}))
	e2e.Must(t, err)
	if p.Frames != 72 || p.Length.Round(time.Millisecond) != 3*time.Second || len(p.Samples) != 1 {
		t.Fatalf("%d frames of %v, %d samples", p.Frames, p.Length, len(p.Samples))
	}
	for _, s := range p.Samples {
		weak, strong := difference(s.Before, s.After[0]), difference(s.Before, s.After[1])
		if s.Noise == nil || s.Noise.Luma < 5 || weak < 1 || strong < weak*1.1 {
			t.Errorf("at %v: noise %v, changed by %.2f and %.2f levels", s.At, s.Noise, weak, strong)
		}
	}
	if j := p.Jobs; j[0].Bytes < j[1].Bytes || j[1].Bytes < 50_000 || j[0].Time <= 0 {
		t.Errorf("costs: %v", j)
	}
}

// TestPreviewEqual: the pictures equal the job's frames, also where another job measured the noise.
func TestPreviewEqual(t *testing.T) {
	args := []string{"-i", "../../../samples/noisy.mp4", "--device=cpu", "--depth=8"}
	parse := func(more ...string) *Options {
		o, err := Parse(append(slices.Clone(args), more...), nil)
		e2e.Must(t, err)
		return o
	}
	quiet := terminal.NewUI(terminal.Stdio{}, terminal.UIOptions{})
	weak, strong := parse("-o=x.mkv", "--strength=0.5"), parse("-o=x.mkv", "--strength=1.5")
	got, err := PreviewOf(t.Context(), weak.Unfiltered(), []*Options{weak, strong}, 2, quiet)
	e2e.Must(t, err)
	whole := filepath.Join(t.TempDir(), "out.mkv")
	if code, said := runJob(t, append(args, "-o="+whole, "--strength=1.5", "--codec=ffv1", "-q")...); code != 0 {
		t.Fatal(said)
	}
	done := parse("-o=x.mkv")
	done.Input = whole
	want, err := PreviewOf(t.Context(), weak.Unfiltered(), []*Options{done.Unfiltered()}, 2, quiet)
	e2e.Must(t, err)
	for i, s := range got.Samples {
		if d := difference(s.After[1], want.Samples[i].After[0]); s.At != want.Samples[i].At || d > 0 {
			t.Errorf("at %v and %v: the picture differs from the job's by %.3f levels", s.At, want.Samples[i].At, d)
		}
	}
}

// TestPreviewHDR: pictures of HDR are mapped, and Preview.HDR is set.
func TestPreviewHDR(t *testing.T) {
	picture := func(hdr, options string) image.Image {
		o, err := Parse(append([]string{"-i", "../../../samples/clean.mp4", "-o", "x.mp4", "--device=cpu", "-r", "0"}, strings.Fields(options)...), nil)
		e2e.Must(t, err)
		p, err := PreviewOf(t.Context(), o.Unfiltered(), []*Options{o}, 1, terminal.NewUI(terminal.Stdio{}, terminal.UIOptions{}))
		e2e.Must(t, err)
		if p.HDR != hdr {
			t.Errorf("%q: the pictures are of %q, not %q", options, p.HDR, hdr)
		}
		return p.Samples[0].After[0]
	}
	if d := difference(picture("", ""), picture("PQ", "--before setparams=color_trc=smpte2084")); d < 5 {
		t.Errorf("the picture of PQ differs from that of the same samples in SDR by %.2f levels", d)
	}
}

// TestPreviewResult: a finished file is shown at the times of its source, also where it begins
// later or has each field as a frame.
func TestPreviewResult(t *testing.T) {
	for _, options := range []string{"--start 1.5 --frames 12", "--field-order tff --deinterlace bob"} {
		name := filepath.Join(t.TempDir(), "out.mkv")
		args := append([]string{"-i", "../../../samples/noisy.mp4", "-o", name, "--device=cpu", "-r", "0", "--codec", "ffv1", "-q"}, strings.Fields(options)...)
		if code, said := runJob(t, args...); code != 0 {
			t.Fatal(said)
		}
		o, err := Parse(args, nil)
		e2e.Must(t, err)
		done, err := Parse([]string{"-i", name, "-o", "x.mkv"}, nil)
		e2e.Must(t, err)
		p, err := PreviewOf(t.Context(), o.Unfiltered(), []*Options{done.Unfiltered()}, 3, terminal.NewUI(terminal.Stdio{}, terminal.UIOptions{}))
		e2e.Must(t, err)
		for _, s := range p.Samples {
			if d := difference(s.Before, s.After[0]); d > 0.01 {
				t.Errorf("%s: at %v the result differs by %.2f levels", options, s.At, d)
			}
		}
		if len(p.Samples) != 3 || p.Jobs[0] != (PreviewJob{}) {
			t.Errorf("%s: %d samples, %v", options, len(p.Samples), p.Jobs)
		}
	}
}

// difference returns the mean difference of two pictures, in levels.
func difference(a, b image.Image) (d float64) {
	p, q := a.(*image.RGBA).Pix, b.(*image.RGBA).Pix
	for i, v := range p {
		d += float64(max(v, q[i]) - min(v, q[i]))
	}
	return d / float64(len(p)) * 4 / 3
}

func TestChosen(t *testing.T) {
	var all []moment
	for i := range 24 {
		m := moment{at: time.Duration(i) * time.Second, mean: 100}
		for y := range m.look {
			for x := range m.look[y] {
				m.look[y][x] = float64(i / 8 * 60) // three scenes
			}
		}
		all = append(all, m)
	}
	all[3].mean, all[9].mean, all[20].motion = 5, 250, 40
	got := chosen(all, 6)
	var at []int
	for _, m := range got {
		at = append(at, int(m.at.Seconds()))
	}
	if len(at) != 6 || !slices.Contains(at, 3) || !slices.Contains(at, 9) || !slices.Contains(at, 20) || !slices.IsSorted(at) {
		t.Errorf("moments %v", at)
	}
	if all := chosen(all[:2], 6); len(all) != 2 {
		t.Errorf("%d moments of 2", len(all))
	}
}

// TestPreviewKeyed: frames soon after key frames are shown, at their own times.
func TestPreviewKeyed(t *testing.T) {
	folder := t.TempDir()
	source, whole := filepath.Join(folder, "in.mkv"), filepath.Join(folder, "out.mkv")
	if code, said := runJob(t, strings.Fields("-i ../../../samples/noisy.mp4 -q --device=cpu -r 0 --before scale=160:90 --fps 96 --after noise=alls=30:allf=t --gop 20 --preset superfast -o "+source)...); code != 0 {
		t.Fatal(said)
	}
	if code, said := runJob(t, "-i", source, "-q", "--device=cpu", "-r", "0", "--codec", "ffv1", "--start", "0.5", "-o", whole); code != 0 {
		t.Fatal(said)
	}
	o, err := Parse([]string{"-i", source, "-o", "x.mkv", "--device=cpu", "-r", "0", "--start", "0.5"}, nil)
	e2e.Must(t, err)
	done, err := Parse([]string{"-i", whole, "-o", "x.mkv"}, nil)
	e2e.Must(t, err)
	v, err := PreviewOf(t.Context(), o.Unfiltered(), []*Options{done.Unfiltered()}, 4, terminal.NewUI(terminal.Stdio{}, terminal.UIOptions{}))
	e2e.Must(t, err)
	for _, s := range v.Samples {
		if d := difference(s.Before, s.After[0]); d > 0.01 {
			t.Errorf("at %v the result differs by %.2f levels", s.At, d)
		}
		if frame := (s.At.Seconds() + 0.5) * 96; math.Mod(frame-lead+0.3, 20) > 0.6 { // times are rounded
			t.Errorf("the frame at %v is not soon after a key frame", s.At)
		}
	}
	if len(v.Samples) != 4 {
		t.Errorf("%d samples", len(v.Samples))
	}
}
