package graph

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
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
	fields    [2]bool
}

type results []result

func (r *results) Put(_ context.Context, f *pipeline.Frame) error {
	defer f.Release()
	out := result{Format: f.Format, video: *f.Video, pts: f.PTS, long: f.Duration, frame: f.Quantiser, fields: [2]bool{f.Interlaced, f.TopFieldFirst}}
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
	if f.inside.Load() != 0 || f.traces.Load() != 0 {
		t.Errorf("%d frames and traces of %d are left", f.inside.Load(), f.traces.Load())
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

// unit is a time base in which all times of the tests are whole.
const unit = 900_000

// reference runs ffmpeg on frames, and returns its output in one of its formats.
func reference(t *testing.T, graph string, out pipeline.Layout, src []*pipeline.Frame, format string) []byte {
	t.Helper()
	in := src[0].Format
	var raw bytes.Buffer
	for _, f := range src {
		for i, y := range f.Rows() {
			raw.Write(f.Row(i, y))
		}
	}
	cmd := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", in.Layout.String(),
		"-s", fmt.Sprintf("%dx%d", in.Width, in.Height), "-r", "25", "-i", "-", "-vf", graph, "-fps_mode", "passthrough",
		"-enc_time_base", fmt.Sprintf("1:%d", unit), "-pix_fmt", out.String(), "-f", format, "-")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &raw, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("ffmpeg: %v\n%s", err, &stderr)
	}
	return stdout.Bytes()
}

// listed returns the times and digests in ffmpeg's framemd5.
func listed(b []byte) (times []int64, digests []string) {
	for line := range strings.Lines(string(b)) {
		if fields := strings.Split(line, ","); !strings.HasPrefix(line, "#") && len(fields) == 6 {
			pts, _ := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 64)
			times, digests = append(times, pts), append(digests, strings.TrimSpace(fields[5]))
		}
	}
	return times, digests
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Pictures and times are the same as ffmpeg's with the same graph.
func TestAgainstFFmpeg(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no ffmpeg")
	}
	deep := pipeline.YUV422P.At(10)
	for _, c := range []struct {
		graph  string
		layout pipeline.Layout
		off    float64 // how far samples may be, as ffmpeg may be older than the library
	}{
		{"bwdif=1", pipeline.YUV420P, 0.1}, {"bwdif=0:parity=bff", deep, 0.1}, {"yadif", pipeline.YUV444P, 0},
		{"w3fdif", pipeline.YUV420P, 0}, {"estdif=mode=frame", pipeline.YUV420P, 0.2}, {"fieldmatch", pipeline.YUV420P, 0},
		{"setfield=tff,separatefields,weave", pipeline.YUV422P, 0}, {"telecine", pipeline.YUV420P, 0}, {"pullup", pipeline.YUV420P, 0},
		{"crop=40:30:6:4,hflip", pipeline.YUV420P, 0}, {"vflip", deep, 0}, {"transpose=1,pad=80:80:8:8", pipeline.YUV444P, 0},
		{"scale=32:-2:flags=lanczos", pipeline.YUV420P, 0}, {"scale=96:64:flags=bicubic", deep, 0}, {"rotate=PI/6", pipeline.YUV444P, 0},
		{"eq=contrast=1.2:gamma=0.9", pipeline.YUV420P, 0}, {"lutyuv=y=255-val", pipeline.YUV420P, 0}, {"curves=preset=lighter", pipeline.GBRP, 0},
		{"colorlevels=rimin=0.1", pipeline.RGBA, 0}, {"format=gray", pipeline.YUV420P, 0}, {"negate", pipeline.GRAY.At(16), 0},
		{"cas=0.4,unsharp=5:5:0.8", pipeline.YUV420P, 0}, {"deband", deep, 0.1}, {"gradfun", pipeline.YUV420P, 0}, {"hqdn3d=3", pipeline.YUV420P.At(10), 0},
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
			defer func() {
				for _, s := range src {
					s.Release()
				}
			}()
			times, digests := listed(reference(t, c.graph, got[0].Layout, src, "framemd5"))
			var mine []int64
			var sums []string
			var samples []byte
			for _, r := range got {
				mine = append(mine, r.pts*unit*int64(r.video.TimeBase.Num)/int64(r.video.TimeBase.Den))
				sums = append(sums, fmt.Sprintf("%x", md5.Sum(r.samples)))
				samples = append(samples, r.samples...)
			}
			if !slices.Equal(mine, times) {
				t.Errorf("times %v\nwant  %v", mine, times)
			}
			if c.off == 0 {
				if !slices.Equal(sums, digests) {
					t.Error("the samples are not ffmpeg's")
				}
				return
			}
			want := reference(t, c.graph, got[0].Layout, src, "rawvideo")
			if len(samples) != len(want) {
				t.Fatalf("%d bytes of samples, want %d", len(samples), len(want))
			}
			if off := difference(samples, want, got[0].Layout); off > c.off {
				t.Errorf("samples differ by %g on average", off)
			}
		})
	}
}

// difference returns how far samples are from others on average, in levels of 8 bits.
func difference(a, b []byte, l pipeline.Layout) (mean float64) {
	info := l.Info()
	n := info.SampleBytes()
	for i := 0; i+n <= len(a); i += n {
		x, y := float64(a[i]), float64(b[i])
		if n == 2 {
			x, y = float64(binary.LittleEndian.Uint16(a[i:])), float64(binary.LittleEndian.Uint16(b[i:]))
		}
		mean += math.Abs(x-y) / float64(int(1)<<(info.Depth-8))
	}
	return mean * float64(n) / float64(len(a))
}

func open(t *testing.T, graph string, o Options) *Filter {
	t.Helper()
	f, err := Open(graph, o)
	must(t, err)
	return f
}

var small = pipeline.Format{Layout: pipeline.YUV420P, Width: 64, Height: 48, Matrix: pipeline.BT601}

// The result describes itself: rate, time base, shape of samples, size, fields.
func TestVideo(t *testing.T) {
	for _, c := range []struct {
		graph string
		want  result
	}{
		{"bwdif=1", result{video: pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 50}, Rate: pipeline.Ratio{Num: 50, Den: 1}, MeanRate: pipeline.Ratio{Num: 50, Den: 1}}, Format: small, long: 1}},
		{"decimate", result{video: pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 20}, Rate: pipeline.Ratio{Num: 20, Den: 1}, MeanRate: pipeline.Ratio{Num: 20, Den: 1}}, Format: small, long: 1}},
		{"fps=10", result{video: pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 10}, Rate: pipeline.Ratio{Num: 10, Den: 1}, MeanRate: pipeline.Ratio{Num: 10, Den: 1}}, Format: small, long: 1}},
		{"setsar=4/3,scale=64:24,setfield=tff", result{video: pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 25}, Rate: pipeline.Ratio{Num: 25, Den: 1}, MeanRate: pipeline.Ratio{Num: 25, Den: 1}, Aspect: pipeline.Ratio{Num: 2, Den: 3}},
			Format: pipeline.Format{Layout: pipeline.YUV420P, Width: 64, Height: 24, Matrix: pipeline.BT601}, long: 1, fields: [2]bool{true, true}}},
		{"setpts=2*PTS", result{video: pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 25}, Rate: pipeline.Ratio{Num: 25, Den: 2}, MeanRate: pipeline.Ratio{Num: 25, Den: 2}}, Format: small, long: 2}},
		{"setpts=PTS-STARTPTS", result{video: pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 25}, Rate: pipeline.Ratio{Num: 25, Den: 1}, MeanRate: pipeline.Ratio{Num: 25, Den: 1}}, Format: small, long: 1}},
		{"scale=out_range=full,format=yuv444p10le", result{video: pipeline.Video{TimeBase: pipeline.Ratio{Num: 1, Den: 25}, Rate: pipeline.Ratio{Num: 25, Den: 1}, MeanRate: pipeline.Ratio{Num: 25, Den: 1}}, long: 1,
			Format: pipeline.Format{Layout: pipeline.YUV444P.At(10), Width: 64, Height: 48, Matrix: pipeline.BT601, FullRange: true}}},
	} {
		got := run(t, open(t, c.graph, Options{}), clip(t, newPool(t, 1), small, 6))[1]
		if got.Format != c.want.Format || got.video != c.want.video || got.long != c.want.long || got.fields != c.want.fields {
			t.Errorf("%s: %v %+v, long %d, fields %v", c.graph, got.Format, got.video, got.long, got.fields)
		}
	}
}

// The next stage gets a layout that it takes, and keeps the depth if it can.
func TestTakes(t *testing.T) {
	for _, c := range []struct {
		graph      string
		takes      []pipeline.Layout
		from, want pipeline.Layout
	}{
		{"null", []pipeline.Layout{pipeline.YUV420P, pipeline.YUV420P.At(10)}, pipeline.YUV420P.At(10), pipeline.YUV420P.At(10)},
		{"null", []pipeline.Layout{pipeline.YUV420P, pipeline.YUV420P.At(16)}, pipeline.YUV420P.At(10), pipeline.YUV420P.At(16)},
		{"null", []pipeline.Layout{pipeline.YUV420P}, pipeline.YUV420P.At(10), pipeline.YUV420P},
		{"format=rgb24", nil, pipeline.YUV420P, pipeline.YUV420P}, {"format=rgb24", []pipeline.Layout{pipeline.GBRP}, pipeline.YUV420P, pipeline.GBRP},
		{"null", []pipeline.Layout{pipeline.NV12, pipeline.YUV444P}, pipeline.YUV422P, pipeline.YUV444P},
	} {
		takes := func(l pipeline.Layout) bool { return c.takes == nil || slices.Contains(c.takes, l) }
		in := small
		in.Layout = c.from
		if got := run(t, open(t, c.graph, Options{Takes: takes}), clip(t, newPool(t, 1), in, 1))[0].Layout; got != c.want {
			t.Errorf("%s of %v: %v, want %v", c.graph, c.from, got, c.want)
		}
	}
}

// Results in memory of a pool are the same, also for filters that turn rows upside down.
func TestPool(t *testing.T) {
	src := newPool(t, 1)
	for _, graph := range []string{"vflip", "bwdif=1", "crop=33:21:3:5"} {
		want := run(t, open(t, graph, Options{}), clip(t, src, small, 5))
		got := run(t, open(t, graph, Options{Pool: newPool(t, 3)}), clip(t, src, small, 5))
		if len(got) != len(want) {
			t.Fatalf("%s: %d frames, want %d", graph, len(got), len(want))
		}
		for i := range got {
			if got[i].Format != want[i].Format || got[i].pts != want[i].pts || !bytes.Equal(got[i].samples, want[i].samples) {
				t.Errorf("%s: frame %d differs", graph, i)
			}
		}
	}
}

// limited is a source whose frames are in a pool with a limit.
type limited struct {
	pool *pipeline.Pool
	list []*pipeline.Frame
}

func (s *limited) Next(ctx context.Context) (*pipeline.Frame, error) {
	if len(s.list) == 0 {
		return nil, io.EOF
	}
	from := s.list[0]
	s.list = s.list[1:]
	defer from.Release()
	f, err := s.pool.NewFrame(ctx, from.Format)
	if err == nil {
		f.CopySamples(from)
		f.CopyTiming(from)
	}
	return f, err
}

// A source with room for one frame more than the stage holds never blocks, even if the graph keeps
// more or passes on the memory of frames.
func TestHeld(t *testing.T) {
	for _, graph := range []string{"bwdif=1", "tmedian=6", "atadenoise=s=31", "deflicker=size=20", "fieldmatch,decimate", "crop=32:32",
		"split[a][b];[a]setpts=PTS+20[c];[c][b]blend=all_mode=average", "minterpolate=fps=30:mi_mode=blend", "tpad=stop=2", "fps=50", "dedot", "yadif,yadif,w3fdif"} {
		f := open(t, graph, Options{})
		list := clip(t, newPool(t, 1), small, 40)
		var out keeps
		if err := pipeline.Run(t.Context(), &limited{newPool(t, f.Held()+1), list}, []pipeline.Filter{f}, &out, pipeline.Options{}); err != nil {
			t.Errorf("%s: %v", graph, err)
		}
		if len(out) == 0 {
			t.Errorf("%s: no frames", graph)
		}
	}
}

// keeps is a sink that keeps all frames to the end.
type keeps []*pipeline.Frame

func (k *keeps) Put(_ context.Context, f *pipeline.Frame) error {
	*k = append(*k, f)
	return nil
}

func (k *keeps) Finish(context.Context) error {
	for _, f := range *k {
		f.Release()
	}
	return nil
}

// Where the format changes, the graph ends and begins anew, and loses no frame.
func TestFormatChange(t *testing.T) {
	pool := newPool(t, 1)
	other := small
	other.Layout, other.Width = pipeline.YUV444P.At(10), 80
	src := append(clip(t, pool, small, 5), clip(t, pool, other, 4)...)
	for i, f := range src {
		f.PTS = int64(i)
	}
	got := run(t, open(t, "bwdif=0,hflip", Options{}), src)
	if len(got) != 9 {
		t.Fatalf("%d frames", len(got))
	}
	for i, r := range got {
		want := small
		if i >= 5 {
			want = other
		}
		if r.Format != want || r.pts != int64(2*i) {
			t.Errorf("frame %d: %v at %d", i, r.Format, r.pts)
		}
	}
}

// Quantisers and context stay with their frames. Where pictures are scaled, the quantiser
// is removed.
func TestCarried(t *testing.T) {
	for graph, kept := range map[string]bool{"hflip": true, "bwdif=0": true, "scale=32:24": false} {
		src := clip(t, newPool(t, 1), small, 6)
		for i, f := range src {
			f.Quantiser.Step, f.Context = float32(i+1), i%2 == 0
		}
		got := run(t, open(t, graph, Options{}), src) // without context frames, which a sink never sees
		if len(got) != 3 {
			t.Errorf("%s: %d frames", graph, len(got))
		}
		for i, r := range got {
			if kept && r.frame.Step != float32(2*i+2) || !kept && r.frame.Step != 0 {
				t.Errorf("%s: frame %d: %v", graph, i, r.frame)
			}
		}
	}
}

func TestLocal(t *testing.T) {
	for graph, want := range map[string]bool{
		"crop=32:32,scale=64:64,eq=gamma=2": true, "pad=iw+8:ih": true, "bwdif": false, "fps=25": false, "hflip,hqdn3d": false,
		"rotate=t": false, "crop=32:32:n:0": false, "hflip=enable='gt(t,1)'": false, "split[a][b];[a][b]blend": false,
	} {
		if got := open(t, graph, Options{}).Local(); got != want {
			t.Errorf("%s: %v", graph, got)
		}
	}
}

// A graph that does not fit the pictures, makes too large ones or never ends is refused.
func TestProcessRefuses(t *testing.T) {
	for _, c := range []struct{ graph, want string }{
		{"hflip,crop=640:480", `filter 2 of the graph, "crop=640:480"`}, {"pad=2000:2000", "2000x2000 is more than 1000000 pixels"},
		{"scale=60000:60000", "60000x60000"}, {"format=yuv420p16,scale=800:800,scale=8:8", "800x800"}, {"pad=100000:100000", "pad"},
		{"fps=source_fps*100", "2500/1 frames a second"}, {"setpts=PTS*1000000,fps=25", "more than 100000 frames"},
		{"split[a][b];[a]setpts=PTS+1000000[c];[c][b]blend", "keeps"},
		{"setpts=NAN", "without a time"}, {"setpts=-PTS", "a frame at -0.040 s comes out of it after one at 0.000 s"},
		{"setpts=PTS/2", "a frame at 0.000 s comes out of it after one at 0.000 s"}, {"setpts=1e18", "too large"}, {"fps=1/1000", "no frame comes out of it, of 80"}, {"setpts=PTS*1e6", "a frame at 40000.000 s comes out of it after one at 0.000 s"},
	} {
		list := frames(clip(t, newPool(t, 1), small, 80))
		var out results
		err := pipeline.Run(t.Context(), &list, []pipeline.Filter{open(t, c.graph, Options{Name: "--after", MaxPixels: 1e6, memory: 1})}, &out, pipeline.Options{})
		for _, f := range list {
			f.Release()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "--after: ") || !errors.Is(err, ErrGraph) {
			t.Errorf("%s: %v", c.graph, err)
		}
	}
}

// Frames that come again, as of a live source that stands still, are filtered as they come.
func TestRepeated(t *testing.T) {
	src := clip(t, newPool(t, 1), small, 6)
	for i, f := range src {
		f.PTS = int64(i % 3)
	}
	if got := run(t, open(t, "hflip,unsharp", Options{}), src); len(got) != 6 || got[3].pts != 0 {
		t.Errorf("%d frames", len(got))
	}
}

// Results have times and lengths of their own, also where filters give no times.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		graph  string
		frames int
		want   string
	}{
		{"setpts=2*PTS", 3, "[0+2 2+2 4+2]/25"}, {"setpts=2*PTS", 1, "[0+1]/25"},
		{"bwdif=1", 1, "[0+1 1+1]/50"}, {"bwdif=1", 2, "[0+1 1+1 2+1 3+1]/50"},
		{"separatefields,weave", 2, "[0+1 1+1]/25"},
	} {
		src := clip(t, newPool(t, 1), small, c.frames)
		got := run(t, open(t, c.graph, Options{}), src)
		var times []string
		for _, r := range got {
			times = append(times, fmt.Sprintf("%d+%d", r.pts, r.long))
		}
		if text := fmt.Sprintf("%v/%d", times, got[0].video.TimeBase.Den); text != c.want {
			t.Errorf("%s of %d frames: %s, not %s", c.graph, c.frames, text, c.want)
		}
	}
}

// A run that ends in the middle releases all frames.
func TestCancel(t *testing.T) {
	for _, graph := range []string{"bwdif=1", "tmedian=3", "fps=5000/7"} {
		list := frames(clip(t, newPool(t, 1), small, 20))
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		n := 0
		stop := looking(func(*pipeline.Frame) {
			if n++; n == 5 {
				cancel(cause)
			}
		})
		if err := pipeline.Run(ctx, &list, []pipeline.Filter{open(t, graph, Options{})}, stop, pipeline.Options{}); !errors.Is(err, cause) {
			t.Errorf("%s: %v", graph, err)
		}
		for _, f := range list {
			f.Release()
		}
	}
}

// Captions and timecodes come once, and metadata of HDR goes with the transfer function.
func TestUnits(t *testing.T) {
	for graph, want := range map[string]string{
		"hflip": "both both ", "bwdif=1": "both HDR both HDR ", "fps=50": "both HDR both HDR ", "setparams=color_trc=bt709": "captions captions ",
	} {
		src := frames(clip(t, newPool(t, 1), small, 2))
		for _, f := range src {
			picture := astiav.AllocFrame()
			props := av.PropsOf(picture)
			picture.Free()
			props.Units = []units.Unit{{Kind: units.MasteringDisplay}, {Kind: units.Captions}}
			f.SetProps(props)
		}
		got := ""
		sink := looking(func(f *pipeline.Frame) {
			switch list := av.Units(f); {
			case len(list) == 2:
				got += "both "
			case len(list) == 1 && list[0].Kind == units.Captions:
				got += "captions "
			case len(list) == 1:
				got += "HDR "
			default:
				got += "none "
			}
		})
		must(t, pipeline.Run(t.Context(), &src, []pipeline.Filter{open(t, graph, Options{})}, sink, pipeline.Options{}))
		if got != want {
			t.Errorf("%s: %s", graph, got)
		}
	}
}

// Captions of frames that a graph drops go to the next result, in order, or are reported as lost at
// the end.
func TestDropped(t *testing.T) {
	for graph, want := range map[string]string{
		"fps=25/2": "0|12|34|56|78|", "framestep=3": "0|123|456|789|", "fps=50": "0||1||2||3||4||5||6||7||8||9||",
		"setpts=PTS,framestep=2,hflip": "0|12|34|56|78|",
	} {
		src := frames(clip(t, newPool(t, 1), small, 10))
		for i, f := range src {
			picture := astiav.AllocFrame()
			props := av.PropsOf(picture)
			picture.Free()
			props.Units = []units.Unit{{Kind: units.HDR10Plus}, {Kind: units.Captions, Payload: []byte(fmt.Sprint(i))}}
			f.SetProps(props)
		}
		got, lost := "", ""
		sink := looking(func(f *pipeline.Frame) {
			for _, u := range av.Units(f) {
				got += string(u.Payload)
			}
			got += "|"
		})
		must(t, pipeline.Run(t.Context(), &src, []pipeline.Filter{open(t, graph, Options{Lost: func(name string) { lost = name }})}, sink, pipeline.Options{}))
		if got != want || strings.Contains(want, "9") == (lost == "closed captions") {
			t.Errorf("%s: %s, not %s; lost: %q", graph, got, want, lost)
		}
	}
}

// Alpha goes the same way as the samples, through filters that take it.
func TestAlpha(t *testing.T) {
	for graph, want := range map[string]func(x int) byte{
		"hflip": func(x int) byte { return byte(4 * (63 - x)) }, "crop=32:32:8:0": func(x int) byte { return byte(4 * (x + 8)) },
	} {
		src := frames(clip(t, newPool(t, 1), small, 2))
		for _, f := range src {
			f.SetProps(withAlpha(t, func(x int) byte { return byte(4 * x) }))
		}
		sink := looking(func(f *pipeline.Frame) {
			row, err := alphaRow(f)
			if err != nil {
				t.Errorf("%s: %v", graph, err)
			}
			for x, v := range row {
				if v != want(x) {
					t.Errorf("%s: alpha %d at %d, want %d", graph, v, x, want(x))
				}
			}
		})
		must(t, pipeline.Run(t.Context(), &src, []pipeline.Filter{open(t, graph, Options{})}, sink, pipeline.Options{}))
	}
}

// alphaRow returns the last row of a frame's alpha.
func alphaRow(f *pipeline.Frame) ([]byte, error) {
	if !av.HasAlpha(f) {
		return nil, errors.New("no alpha")
	}
	picture, err := av.Wrap(f.Retain())
	if err != nil {
		return nil, err
	}
	defer picture.Free()
	if err := av.SetAlpha(picture, f, av.WithAlpha(f.Layout)); err != nil {
		return nil, err
	}
	b, err := picture.Data().Bytes(1)
	return b[max(0, len(b)-f.Width):], err
}

// withAlpha returns properties with alpha that is the same in each row of a small picture.
func withAlpha(t *testing.T, at func(x int) byte) *av.Props {
	picture := astiav.AllocFrame()
	defer picture.Free()
	picture.SetWidth(small.Width)
	picture.SetHeight(small.Height)
	picture.SetPixelFormat(av.WithAlpha(small.Layout))
	must(t, picture.AllocBuffer(0))
	b, err := picture.Data().Bytes(1)
	must(t, err)
	alpha := b[len(b)-small.Width*small.Height:]
	for i := range alpha {
		alpha[i] = at(i % small.Width)
	}
	must(t, picture.Data().SetBytes(b, 1))
	props := av.PropsOf(picture)
	must(t, props.KeepAlpha(picture, small))
	return props
}

// looking is a sink that looks at frames.
type looking func(*pipeline.Frame)

func (l looking) Put(_ context.Context, f *pipeline.Frame) error {
	l(f)
	f.Release()
	return nil
}

func (l looking) Finish(context.Context) error { return nil }

// Frames without samples in host memory, or without a time base, are refused.
func TestLacking(t *testing.T) {
	for _, change := range []func(*pipeline.Frame){
		func(f *pipeline.Frame) { f.Planes = [4]pipeline.Plane{} }, func(f *pipeline.Frame) { f.Video = nil },
	} {
		src := frames(clip(t, newPool(t, 1), small, 1))
		change(src[0])
		if err := pipeline.Run(t.Context(), &src, []pipeline.Filter{open(t, "hflip", Options{})}, &results{}, pipeline.Options{}); err == nil {
			t.Error("a frame is taken")
		}
	}
}

// TestTrial: results of a trial equal the graph's, apart from samples.
func TestTrial(t *testing.T) {
	options := map[string]string{"colorspace": "=all=bt709:iall=bt601-6-625", "colormatrix": "=bt601:bt709", "fieldorder": "=bff", "format": "=gray", "setpts": "=2*PTS", "extractplanes": "=y"}
	pool := newPool(t, 1)
	for name := range known {
		var got [2]results
		text := name + options[name]
		if Check(text) != nil || name == "uspp" {
			continue // it takes two videos, needs options or, as uspp, an encoder
		}
		for i, trial := range []bool{false, true} {
			src := clip(t, pool, small, 4)
			for _, f := range src {
				f.Interlaced, f.TopFieldFirst = name != "interlace", true // which gives frames with fields equal times
			}
			got[i] = run(t, open(t, text, Options{Trial: trial}), src)
			for k := range got[i] {
				got[i][k].samples = nil
			}
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%s: %+v, and in a trial %+v", text, got[0], got[1])
		}
	}
	source, trial := clip(t, pool, small, 2), clip(t, pool, small, 2)
	slow := "nlmeans,bm3d,owdenoise,hqdn3d,negate"
	if got := run(t, open(t, slow, Options{Trial: true}), trial); !reflect.DeepEqual(got, run(t, open(t, "null", Options{}), source)) {
		t.Error("filters that change samples alone have worked")
	}
}
