package graph

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// clip returns frames of a moving texture in memory of a pool, as a source emits them.
func clip(t *testing.T, pool *pipeline.Pool, format pipeline.Format, n int) (list []*pipeline.Frame) {
	t.Helper()
	info := format.Layout.Info()
	video := &pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 25}, Rate: pipeline.Ratio{Num: 25, Den: 1}, MeanRate: pipeline.Ratio{Num: 25, Den: 1}}
	for k := range n {
		f, err := pool.TakeFrame(format, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range f.Rows() {
			row := f.Row(i, y)
			for x := range len(row) / info.SampleBytes() {
				v := 0.5 + 0.2*math.Sin(float64(x+3*k+11*i)/5) + 0.2*math.Sin(float64(y-k)/4) + 0.05*math.Sin(float64(x*y+k))
				if s := uint16(v * float64(uint(1)<<info.Depth-1)); info.SampleBytes() == 2 {
					binary.LittleEndian.PutUint16(row[2*x:], s<<info.Shift)
				} else {
					row[x] = byte(s)
				}
			}
		}
		f.PTS, f.Duration, f.Video = int64(k), 1, video
		list = append(list, f)
	}
	return list
}

type frames []*pipeline.Frame

func (s *frames) Next(context.Context) (*pipeline.Frame, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	f := (*s)[0]
	*s = (*s)[1:]
	return f, nil
}

// result is a frame that came out, without padding.
type result struct {
	pipeline.Format
	video     pipeline.Video
	pts, long int64
	samples   []byte
	frame     pipeline.Quantiser
	context   bool
	fields    [2]bool
}

type results []result

func (r *results) Put(_ context.Context, f *pipeline.Frame) error {
	defer f.Release()
	out := result{Format: f.Format, video: *f.Video, pts: f.PTS, long: f.Duration, frame: f.Quantiser, context: f.Context, fields: [2]bool{f.Interlaced, f.TopFieldFirst}}
	for i, y := range f.Rows() {
		out.samples = append(out.samples, f.Row(i, y)...)
	}
	*r = append(*r, out)
	return nil
}

func (r *results) Finish(context.Context) error { return nil }

func run(t *testing.T, f *Filter, src []*pipeline.Frame) results {
	t.Helper()
	var out results
	source := frames(src)
	if err := pipeline.Run(t.Context(), &source, []pipeline.Filter{f}, &out, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

// newPool returns a pool that must be empty in the end.
func newPool(t *testing.T, limit int) *pipeline.Pool {
	p := pipeline.NewPool(kernels.Host{}, limit)
	t.Cleanup(func() {
		if n := p.InUse(); n != 0 {
			t.Errorf("%d frames are still in use", n)
		}
		p.Close()
	})
	return p
}

// reference runs ffmpeg, and returns the samples of each frame and the lines of its times.
func reference(t *testing.T, graph string, in, out pipeline.Format, src []*pipeline.Frame) (samples []byte, times []string) {
	t.Helper()
	dir := t.TempDir()
	var raw bytes.Buffer
	for _, f := range src {
		for i, y := range f.Rows() {
			raw.Write(f.Row(i, y))
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "in"), raw.Bytes(), 0o600))
	args := []string{"-v", "error", "-nostdin", "-f", "rawvideo", "-pix_fmt", in.Layout.String(), "-s", fmt.Sprintf("%dx%d", in.Width, in.Height), "-r", "25", "-i", "in",
		"-vf", graph, "-fps_mode", "passthrough", "-enc_time_base", "-1", "-f", "rawvideo", "-pix_fmt", out.Layout.String(), "out",
		"-vf", graph, "-fps_mode", "passthrough", "-enc_time_base", "-1", "-f", "framecrc", "-pix_fmt", out.Layout.String(), "times"}
	cmd := exec.CommandContext(t.Context(), "ffmpeg", args...)
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v\n%s", err, b)
	}
	samples, err := os.ReadFile(filepath.Join(dir, "out"))
	must(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "times"))
	must(t, err)
	base := ""
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if after, ok := strings.CutPrefix(s.Text(), "#tb 0: "); ok {
			base = after
		}
		if fields := strings.Split(s.Text(), ","); !strings.HasPrefix(s.Text(), "#") && len(fields) > 3 {
			times = append(times, strings.TrimSpace(fields[2])+" of "+base)
		}
	}
	return samples, times
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Pictures and times are those of ffmpeg with the same graph.
func TestAgainstFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no ffmpeg")
	}
	deep := pipeline.YUV422P.At(10)
	for _, c := range []struct {
		graph  string
		layout pipeline.Layout
		off    int // the largest difference of a sample
	}{
		{"bwdif=1", pipeline.YUV420P, 0}, {"bwdif=0:parity=bff", deep, 0}, {"yadif", pipeline.YUV444P, 0},
		{"w3fdif", pipeline.YUV420P, 0}, {"estdif=mode=frame", pipeline.YUV420P, 0}, {"fieldmatch,decimate", pipeline.YUV420P, 0},
		{"setfield=tff,separatefields,weave", pipeline.YUV422P, 0}, {"telecine", pipeline.YUV420P, 0}, {"pullup", pipeline.YUV420P, 0},
		{"crop=40:30:6:4,hflip", pipeline.YUV420P, 0}, {"vflip", deep, 0}, {"transpose=1,pad=80:80:8:8", pipeline.YUV444P, 0},
		{"scale=32:-2:flags=lanczos", pipeline.YUV420P, 0}, {"scale=96:64:flags=bicubic", deep, 0}, {"rotate=PI/6", pipeline.YUV444P, 0},
		{"eq=contrast=1.2:gamma=0.9", pipeline.YUV420P, 0}, {"lutyuv=y=255-val", pipeline.YUV420P, 0}, {"curves=preset=lighter", pipeline.GBRP, 0},
		{"colorlevels=rimin=0.1", pipeline.RGBA, 0}, {"format=gray", pipeline.YUV420P, 0}, {"negate", pipeline.GRAY.At(16), 0},
		{"cas=0.4,unsharp=5:5:0.8", pipeline.YUV420P, 0}, {"deband", deep, 0}, {"gradfun", pipeline.YUV420P, 0}, {"hqdn3d=3", pipeline.YUV420P.At(10), 0},
		{"median=2,removegrain=4", pipeline.YUV420P, 0}, {"atadenoise", pipeline.YUV420P.At(12), 0}, {"deflicker", pipeline.GRAY, 0},
		{"tmedian=2", pipeline.YUV420P, 0}, {"split[a][b];[a]gblur=2[c];[b][c]blend=all_mode=average", pipeline.YUV420P, 0},
		{"fps=50", pipeline.YUV420P, 0}, {"fps=10", pipeline.YUV420P, 0}, {"setpts=PTS*2+3", pipeline.YUV420P, 0}, {"tpad=start=2:stop=3:stop_mode=clone", pipeline.YUV420P, 0},
		{"framestep=3", pipeline.NV12, 0}, {"minterpolate=fps=30:mi_mode=blend", pipeline.YUV420P, 0},
	} {
		t.Run(c.graph, func(t *testing.T) {
			in := pipeline.Format{Layout: c.layout, Width: 64, Height: 48, Matrix: pipeline.BT601, FullRange: c.layout.Info().RGB || c.layout.Info().Gray()}
			pool := newPool(t, 1)
			src := clip(t, pool, in, 12)
			for _, s := range src {
				s.Retain()
			}
			f, err := Open(c.graph, Options{})
			must(t, err)
			got := run(t, f, src)
			if len(got) == 0 {
				t.Fatal("no frames")
			}
			want, times := reference(t, c.graph, in, got[0].Format, src)
			for _, s := range src {
				s.Release()
			}
			var mine []string
			var samples []byte
			for _, r := range got {
				mine = append(mine, fmt.Sprintf("%d of %d/%d", r.pts, r.video.TimeBase.Num, r.video.TimeBase.Den))
				samples = append(samples, r.samples...)
			}
			if !slices.Equal(mine, times) {
				t.Errorf("times %v\nwant  %v", mine, times)
			}
			if len(samples) != len(want) {
				t.Fatalf("%d bytes of samples, want %d", len(samples), len(want))
			}
			if worst, sum := difference(samples, want, got[0].Layout); worst > c.off {
				t.Errorf("samples differ by up to %d, %g on average", worst, sum)
			}
		})
	}
}

func difference(a, b []byte, l pipeline.Layout) (worst int, mean float64) {
	n := l.Info().SampleBytes()
	for i := 0; i+n <= len(a); i += n {
		x, y := int(a[i]), int(b[i])
		if n == 2 {
			x, y = int(binary.LittleEndian.Uint16(a[i:])), int(binary.LittleEndian.Uint16(b[i:]))
		}
		worst = max(worst, max(x-y, y-x))
		mean += math.Abs(float64(x - y))
	}
	return worst, mean * float64(n) / float64(len(a))
}

var _ = errors.Is
var _ = runtime.GC
