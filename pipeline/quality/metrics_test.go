package quality

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

var layouts = []pipeline.Layout{
	pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.RGBA,
	pipeline.YUV420P.At(10), pipeline.NV12.At(10), pipeline.YUV422P.At(12), pipeline.NV24.At(16), pipeline.YUV444P.At(16),
}

// newFrame returns a frame whose rows have padding that no measure may look at.
func newFrame(layout pipeline.Layout, w, h int) *pipeline.Frame {
	f := pipeline.Format{Layout: layout, Width: w, Height: h}
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		bytes, rows := f.PlaneSize(i)
		pitch := bytes + 13
		planes[i] = pipeline.Plane{Data: make([]byte, (rows-1)*pitch+bytes), Pitch: pitch}
		for j := range planes[i].Data {
			planes[i].Data[j] = byte(rand.Uint32())
		}
	}
	return pipeline.NewFrame(f, planes, nil, nil)
}

func eachSample(f *pipeline.Frame, do func(plane, x, y int, s *byte)) {
	for i, y := range f.Rows() {
		row := f.Row(i, y)
		for x := range row {
			do(i, x, y, &row[x])
		}
	}
}

// pair returns a picture with ramps, edges, dark and flat parts, and the same with noise.
func pair(layout pipeline.Layout, w, h int, noise float64, seed uint64) (a, b *pipeline.Frame) {
	rng := rand.New(rand.NewPCG(seed, 7))
	a, b = newFrame(layout, w, h), newFrame(layout, w, h)
	unit := float64(int(1) << (layout.Info().Depth - 8))
	for i, y := range a.Rows() {
		for x := range len(a.Row(i, y)) / layout.Info().SampleBytes() {
			v := 40*i + x*200/w + 30*((x/5+y/7+int(seed))%2) - y*60/h
			if x > 2*w/3 {
				v = 9 + i
			}
			own := put(a, i, x, y, float64(v)*unit)
			put(b, i, x, y, math.Round(own+rng.NormFloat64()*noise*unit))
		}
	}
	return a, b
}

// put sets a sample to the nearest value that it can have.
func put(f *pipeline.Frame, plane, x, y int, v float64) float64 {
	info, row := f.Layout.Info(), f.Row(plane, y)
	v = min(max(v, 0), float64(int(1)<<info.Depth-1))
	if info.Depth == 8 {
		row[x] = byte(v)
	} else {
		binary.LittleEndian.PutUint16(row[2*x:], uint16(v)<<info.Shift)
	}
	return v
}

func mustCompare(t testing.TB, a, b *pipeline.Frame) Score {
	t.Helper()
	s, err := Compare(a, b)
	e2e.Must(t, err)
	return s
}

var sizes = [][2]int{{1, 1}, {2, 1}, {1, 9}, {7, 5}, {8, 8}, {9, 7}, {15, 16}, {16, 15}, {63, 17}, {5, 130}, {300, 3}, {141, 281}}

func TestEqualFrames(t *testing.T) {
	for _, layout := range layouts {
		for _, size := range sizes {
			a, b := pair(layout, size[0], size[1], 0, 1)
			s := mustCompare(t, a, b)
			if s.MSE != 0 || s.SSIM != 1 || FormatPSNR(s.PSNR()) != "inf" {
				t.Errorf("%v: %v", a.Format, s)
			}
			for _, p := range s.Planes {
				if p.MSE != 0 || p.SSIM != 1 || !math.IsInf(p.PSNR(), 1) {
					t.Errorf("%v: plane %s: MSE %v, SSIM %v", a.Format, p.Name, p.MSE, p.SSIM)
				}
			}
		}
	}
}

// direct takes the definition at its word: means, variances and covariance of each window, in
// floats.
func direct(get func(x, y int) (a, b float64), w, h int, most float64) (mse, ssim float64) {
	for y := range h {
		for x := range w {
			a, b := get(x, y)
			mse += (a - b) * (a - b) * (255 / most) * (255 / most)
		}
	}
	ww, wh := min(w, 8), min(h, 8)
	n := float64(ww * wh)
	c1, c2 := math.Floor(0.0001*most*most*n+0.5)/(n*n), math.Floor(0.0009*most*most*n*max(n-1, 1)+0.5)/(n*max(n-1, 1))
	windows := 0.0
	for y := 0; y+wh <= h; y += 4 {
		for x := 0; x+ww <= w; x += 4 {
			var ma, mb, va, vb, cov float64
			for i := range ww * wh {
				a, b := get(x+i%ww, y+i/ww)
				ma, mb = ma+a/n, mb+b/n
			}
			for i := range ww * wh {
				a, b := get(x+i%ww, y+i/ww)
				va, vb, cov = va+(a-ma)*(a-ma), vb+(b-mb)*(b-mb), cov+(a-ma)*(b-mb)
			}
			va, vb, cov = va/max(n-1, 1), vb/max(n-1, 1), cov/max(n-1, 1)
			ssim += (2*ma*mb + c1) * (2*cov + c2) / ((ma*ma + mb*mb + c1) * (va + vb + c2))
			windows++
		}
	}
	return mse / float64(w*h), ssim / windows
}

func (v view) at(x, y int) float64 {
	s := v.data[y*v.pitch+x*v.step:]
	if v.depth == 8 {
		return float64(s[0])
	}
	return float64(binary.LittleEndian.Uint16(s) >> v.shift)
}

func TestAgainstTheDefinition(t *testing.T) {
	for _, layout := range layouts {
		for _, size := range sizes {
			a, b := pair(layout, size[0], size[1], 12, 3)
			s := mustCompare(t, a, b)
			var mse, ssim, samples float64
			va, vb := views(a), views(b)
			for i, p := range s.Planes {
				w, h := va[i].w, va[i].h
				m, q := direct(func(x, y int) (float64, float64) {
					return va[i].at(x, y), vb[i].at(x, y)
				}, w, h, va[i].most())
				if math.Abs(m-p.MSE) > 1e-9 || math.Abs(q-p.SSIM) > 1e-9 {
					t.Errorf("%v plane %s: MSE %v, SSIM %v; want %v, %v", a.Format, p.Name, p.MSE, p.SSIM, m, q)
				}
				n := float64(w * h)
				mse, ssim, samples = mse+m*n, ssim+q*n, samples+n
			}
			if math.Abs(s.MSE-mse/samples) > 1e-9 || math.Abs(s.SSIM-ssim/samples) > 1e-9 {
				t.Errorf("%v: all: %v, %v; want %v, %v", a.Format, s.MSE, s.SSIM, mse/samples, ssim/samples)
			}
		}
	}
}

// Which samples belong to which plane, by hand.
func TestPlanes(t *testing.T) {
	for _, c := range []struct {
		layout pipeline.Layout
		plane  int
		x      int // byte in the row
		want   string
	}{
		{pipeline.YUV420P, 0, 5, "Y"}, {pipeline.YUV420P, 1, 2, "U"}, {pipeline.YUV420P, 2, 3, "V"},
		{pipeline.NV12, 0, 0, "Y"}, {pipeline.NV12, 1, 6, "U"}, {pipeline.NV12, 1, 7, "V"},
		{pipeline.RGBA, 0, 20, "R"}, {pipeline.RGBA, 0, 25, "G"}, {pipeline.RGBA, 0, 26, "B"}, {pipeline.RGBA, 0, 27, ""},
	} {
		a, b := pair(c.layout, 7, 5, 0, 1)
		b.Row(c.plane, 2)[c.x] ^= 16
		s := mustCompare(t, a, b)
		va := views(a)
		for i, p := range s.Planes {
			want := 0.0
			if p.Name == c.want {
				want = 256 / float64(va[i].w*va[i].h)
			}
			if p.MSE != want || (p.SSIM < 1) != (want > 0) {
				t.Errorf("%v plane %d byte %d: %s has MSE %v and SSIM %v, want MSE %v", c.layout, c.plane, c.x, p.Name, p.MSE, p.SSIM, want)
			}
		}
	}
}

func TestExtremes(t *testing.T) {
	a, b := newFrame(pipeline.YUV444P, 200, 200), newFrame(pipeline.YUV444P, 200, 200)
	eachSample(a, func(i, x, y int, s *byte) { *s, b.Row(i, y)[x] = 255, 0 })
	s := mustCompare(t, a, b)
	if s.MSE != 65025 || s.PSNR() != 0 || FormatPSNR(s.PSNR()) != "0.00" || s.SSIM > 0.001 {
		t.Errorf("white against black: %v", s)
	}
	eachSample(a, func(i, x, y int, s *byte) {
		*s = byte(255 * (x & 1))
		b.Row(i, y)[x] = 255 - *s
	})
	if s := mustCompare(t, a, b); s.MSE != 65025 || s.SSIM > -0.98 || s.SSIM < -1 {
		t.Errorf("stripes against their negative: %v", s)
	}
	wide, other := newFrame(pipeline.YUV420P, 1<<18, 8), newFrame(pipeline.YUV420P, 1<<18, 8)
	eachSample(wide, func(i, x, y int, s *byte) { *s, other.Row(i, y)[x] = 255, 0 })
	if s := mustCompare(t, wide, other); s.MSE != 65025 {
		t.Errorf("a sum ran over: %v", s)
	}
}

// The result is the same to the last bit on any number of cores, and either way round.
func TestDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, layout := range layouts {
		a, b := pair(layout, 501, 403, 9, 5)
		var want Score
		for _, cores := range []int{1, 2, 3, 8} {
			runtime.GOMAXPROCS(cores)
			s := mustCompare(t, a, b)
			if cores == 1 {
				want = s
			}
			if s != want {
				t.Errorf("%v on %d cores: %v, on one %v", layout, cores, s, want)
			}
		}
		if s := mustCompare(t, b, a); s != want {
			t.Errorf("%v: swapped: %v, want %v", layout, s, want)
		}
	}
}

func TestErrors(t *testing.T) {
	a := newFrame(pipeline.YUV420P, 8, 8)
	for _, b := range []*pipeline.Frame{newFrame(pipeline.YUV420P, 8, 9), newFrame(pipeline.NV12, 8, 8)} {
		if _, err := Compare(a, b); err == nil {
			t.Errorf("compared %v with %v", a.Format, b.Format)
		}
	}
	for _, f := range []pipeline.Format{{}, {Layout: pipeline.YUV420P}, {Width: 8, Height: 8}, {Layout: 99, Width: 8, Height: 8}} {
		empty := pipeline.NewFrame(f, [4]pipeline.Plane{}, nil, nil)
		if _, err := Compare(empty, empty); err == nil {
			t.Errorf("compared frames of %+v", f)
		}
	}
}

func TestAccumulator(t *testing.T) {
	var acc Accumulator
	if acc.Frames() != 0 || acc.Score() != (Score{}) {
		t.Errorf("empty: %d frames, %v", acc.Frames(), acc.Score())
	}
	var want Score
	for i, noise := range []float64{0, 3, 20} { // the first frame is equal: its PSNR must not win
		a, b := pair(pipeline.NV12, 40+i, 30, noise, uint64(i))
		e2e.Must(t, acc.Add(a, b))
		s := mustCompare(t, a, b)
		want.MSE += s.MSE / 3
		want.SSIM += s.SSIM / 3
	}
	other := newFrame(pipeline.RGBA, 8, 8)
	if err := acc.Add(other, other); err == nil {
		t.Error("added a frame of another layout")
	}
	if err := acc.Add(newFrame(pipeline.NV12, 8, 8), newFrame(pipeline.NV12, 9, 8)); err == nil {
		t.Error("added frames of two sizes")
	}
	got := acc.Score()
	if acc.Frames() != 3 || math.Abs(got.MSE-want.MSE) > 1e-9 || math.Abs(got.SSIM-want.SSIM) > 1e-9 {
		t.Errorf("%d frames: %v, want %v", acc.Frames(), got, want)
	}
	if line := got.String(); !strings.HasPrefix(line, "PSNR ") || !strings.Contains(line, " dB (Y ") {
		t.Error(line)
	}
}

// The figures match ffmpeg's psnr and ssim filters, within the digits usually quoted.
func TestAgainstFFmpeg(t *testing.T) {
	e2e.Needs(t, "ffmpeg")
	for _, c := range []struct {
		layout pipeline.Layout
		w, h   int
		noise  float64
	}{
		{pipeline.YUV420P, 352, 288, 4}, {pipeline.YUV420P, 99, 65, 25}, {pipeline.YUV420P, 16, 16, 1},
		{pipeline.YUV422P, 131, 77, 8}, {pipeline.YUV444P, 63, 17, 2}, {pipeline.NV12, 99, 65, 6},
		{pipeline.RGBA, 77, 50, 10}, {pipeline.YUV420P, 64, 64, 0},
		{pipeline.YUV420P.At(10), 99, 65, 6}, {pipeline.YUV422P.At(12), 131, 77, 8}, {pipeline.YUV444P.At(16), 63, 33, 3}, {pipeline.NV12.At(10), 64, 66, 5},
	} {
		t.Run(fmt.Sprint(c.layout, c.w, c.h, c.noise), func(t *testing.T) {
			var acc Accumulator
			var raw [2]bytes.Buffer
			for i := range 3 {
				a, b := pair(c.layout, c.w, c.h, c.noise*float64(i+1), uint64(i))
				e2e.Must(t, acc.Add(a, b))
				for j, f := range []*pipeline.Frame{a, b} {
					for p, y := range f.Rows() {
						raw[j].Write(f.Row(p, y))
					}
				}
			}
			// The filters take no interleaved formats. These conversions only move samples.
			format := map[pipeline.Layout]string{pipeline.NV12: "yuv420p", pipeline.NV12.At(10): "yuv420p10le", pipeline.RGBA: "gbrp"}[c.layout]
			if format == "" {
				format = c.layout.String()
			}
			got := acc.Score()
			psnr := run(t, c.layout, c.w, c.h, raw, format, "psnr")
			ssim := run(t, c.layout, c.w, c.h, raw, format, "ssim")
			check := func(what string, got float64, all map[string]float64, key string, within float64) {
				want, ok := all[strings.ToLower(key)]
				if !ok || got != want && !(math.Abs(got-want) <= within) {
					t.Errorf("%s: %v, ffmpeg has %v", what, got, all)
				}
			}
			check("PSNR", got.PSNR(), psnr, "average", 0.01)
			check("SSIM", got.SSIM, ssim, "all", 0.0005)
			for _, p := range got.Planes {
				check("PSNR "+p.Name, p.PSNR(), psnr, p.Name, 0.01)
				check("SSIM "+p.Name, p.SSIM, ssim, p.Name, 0.0005)
			}
		})
	}
}

var figure = regexp.MustCompile(`(\w+):(inf|[-\d.]+)`)

// run returns the figures of an ffmpeg filter over two raw videos by their names in lower case.
func run(t *testing.T, layout pipeline.Layout, w, h int, raw [2]bytes.Buffer, format, filter string) map[string]float64 {
	t.Helper()
	args := []string{"-hide_banner", "-nostdin"}
	for i := range raw {
		name := filepath.Join(t.TempDir(), "raw")
		e2e.Must(t, os.WriteFile(name, raw[i].Bytes(), 0o600))
		args = append(args, "-f", "rawvideo", "-pix_fmt", layout.String(), "-s", fmt.Sprintf("%dx%d", w, h), "-i", name)
	}
	graph := fmt.Sprintf("[0:v]format=%s[a];[1:v]format=%[1]s[b];[a][b]%s", format, filter)
	out, err := exec.Command("ffmpeg", append(args, "-lavfi", graph, "-f", "null", "-")...).CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg: %v\n%s", err, out)
	}
	at := bytes.LastIndex(out, []byte(strings.ToUpper(filter)+" "))
	if at < 0 {
		t.Fatalf("no figures in ffmpeg's output:\n%s", out)
	}
	figures := map[string]float64{}
	for _, m := range figure.FindAllStringSubmatch(string(out[at:]), -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		e2e.Must(t, err)
		figures[strings.ToLower(m[1])] = v
	}
	return figures
}

func BenchmarkCompare(b *testing.B) {
	for _, layout := range layouts {
		b.Run(layout.String()+"-1080p", func(b *testing.B) {
			x, y := pair(layout, 1920, 1080, 5, 1)
			samples := 0
			for _, v := range views(x) {
				samples += v.w * v.h
			}
			b.SetBytes(int64(2 * samples))
			for b.Loop() {
				mustCompare(b, x, y)
			}
		})
	}
}
