package job

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// Results have the requested depth, on the CPU and on a GPU, and are rounded only once: results of
// 10 bits are 6 to 14 dB closer to the unrounded ones than results of 8.
func TestDepth(t *testing.T) {
	if os.Getenv(testdriver.RealDevice) != "" {
		t.Skip("the test driver takes part in it")
	}
	if !testdriver.OnDevice(t, "") {
		return
	}
	const width, height, frames = 96, 64, 3
	for _, c := range []struct {
		layout, args string
	}{
		{"420", "--quality fast"}, {"444", "--quality fast --field-order tff"}, {"mono", "--quality fast"},
		{"422p10", "--quality good --noise 1"}, {"420p12", "--quality fast --field-order bff"},
		{"420", "-r 2"}, {"420p10", "-r 3"}, {"422", "--filter recursive --field-order tff"}, {"420", "-r 1 --compare split"},
	} {
		name := c.layout + " " + c.args
		dir := t.TempDir()
		args := slices.Concat(quiet, []string{"-i", drawn(t, "in.y4m", c.layout, width, height, frames), "--codec", "ffv1"}, strings.Fields(c.args))
		results := map[string]string{}
		for _, depth := range []string{"8", "10", "16"} {
			for _, device := range []string{"cpu", "cuda"} {
				if depth == "16" && device == "cuda" {
					continue // a job of 10 bits shows as much
				}
				out := filepath.Join(dir, device+depth+".mkv")
				mustRun(t, append(args, "--depth", depth, "--device", device, "-o", out)...)
				results[device+depth] = out
			}
			// The devices may put a value on either side of a step.
			if depth == "16" {
				continue
			}
			if x := squareError(t, results["cuda"+depth], results["cpu"+depth]); x > 0.01 {
				t.Errorf("%s: %s bits on the GPU differ by %g", name, depth, x)
			}
		}
		shallow, deep := squareError(t, results["cpu8"], results["cpu16"]), squareError(t, results["cpu10"], results["cpu16"])
		bound := 0.009
		if strings.HasPrefix(c.layout, "mono") { // of full range: the filter sees other samples
			bound = 0.03
		}
		if shallow > 0.25 || deep > bound || shallow < 4*deep {
			t.Errorf("%s: the square of the error is %.4f at 8 bits and %.4f at 10", name, shallow, deep)
		}
	}
}

// Frames have 12 bits from --deflicker to the denoiser, so 8 bits of the source give the results of
// 12, on the CPU and on a GPU. The output has the source's layout, and frames without flicker or
// noise keep their samples.
func TestDeepens(t *testing.T) {
	if !testdriver.OnDevice(t, "") {
		return
	}
	const width, height, frames = 96, 64, 12
	for _, c := range []struct {
		layout, deep string
		full         bool
		fields       string
		most         float64 // of full range, depths differ by rounding
	}{
		{"420", "420p12", false, "progressive", 0.001}, {"422", "422p12", false, "tff", 0.001}, {"mono", "mono12", true, "progressive", 0.2},
	} {
		dir := t.TempDir()
		video := func(name, layout string, depth int, flicker float64) string {
			path := filepath.Join(dir, name)
			out := []byte("YUV4MPEG2 W96 H64 F25:1 Ip A1:1 C" + layout + "\n")
			random := rand.New(rand.NewPCG(1, 2))
			for n := range frames {
				out = append(out, "FRAME\n"...)
				gain := 1 + flicker*float64(n*7%5-2)/2
				for i, size := range map[string][]int{"420": {1, 4, 4}, "422": {1, 2, 2}, "mono": {1}}[c.layout] {
					for at := range width * height / size {
						v := 128
						if i == 0 {
							v = int(16 + (40+20*math.Sin(float64(at%width)/5)+float64(at/width))*gain + 40*flicker*random.NormFloat64())
						}
						if depth > 8 && c.full {
							v = (v*4095 + 127) / 255
						} else {
							v <<= depth - 8
						}
						if out = append(out, byte(v)); depth > 8 {
							out = append(out, byte(v>>8))
						}
					}
				}
			}
			e2e.Must(t, os.WriteFile(path, out, 0o666))
			return path
		}
		job := func(in, out string, with ...string) string {
			args := slices.Concat(quiet, []string{"-i", in, "-o", filepath.Join(dir, out), "--codec", "ffv1", "--deflicker", "--quality", "fast", "--field-order", c.fields}, with)
			mustRun(t, args...)
			return filepath.Join(dir, out)
		}
		shallow, deep := video("8.y4m", c.layout, 8, 0.08), video("12.y4m", c.deep, 12, 0.08)
		want := job(deep, "want.mkv", "--noise", "3", "--depth", "16", "--device", "cpu")
		if e := squareError(t, job(shallow, "deep.mkv", "--noise", "3", "--depth", "16", "--device", "cpu"), want); e > c.most {
			t.Errorf("%s: the square of the difference to a source of 12 bits is %.4f", c.layout, e)
		}
		for _, device := range []string{"cpu", "cuda"} {
			out := job(shallow, device+".mkv", "--noise", "3", "--device", device)
			if e := squareError(t, out, want); e < 0.01 || e > 0.25 {
				t.Errorf("%s: 8 bits on %s differ by %.4f", c.layout, device, e)
			}
			clip, source := openClip(t, out, nil, hostPool(t), nil), openClip(t, shallow, nil, hostPool(t), nil)
			f, g := next(t, clip), next(t, source)
			if f.Layout != g.Layout || f.FullRange != g.FullRange {
				t.Errorf("%s: the output is %v, the input %v", c.layout, f.Format, g.Format)
			}
			f.Release()
			g.Release()
			clip.Close()
			source.Close()
		}
		still := video("still.y4m", c.layout, 8, 0)
		if e := squareError(t, job(still, "still.mkv", "--device", "cpu"), still); e != 0 {
			t.Errorf("%s: a clean and steady video has changed by %g", c.layout, e)
		}
	}
}

// Only --deflicker before the denoiser has frames deepened, and no user's graph may be there.
func TestDeepensFor(t *testing.T) {
	for args, want := range map[string]bool{
		"--deflicker": true, "--footage film": true, "": false, "--repair auto": false, "-r 2 --deflicker": false,
		"--deflicker --before vflip": false, "--deflicker --after vflip": false, "--deflicker --scale 0.5": true,
	} {
		o := parsed(t, base(strings.Fields(args)...)...)
		if got := o.filteredDepth(pipeline.Format{Layout: pipeline.YUV420P}) == 12; got != want || o.deepens() != want {
			t.Errorf("%s: %t", args, got)
		}
	}
}

// White of full range stays white where the encoder has more bits than the source.
func TestDepthKeepsWhite(t *testing.T) {
	for _, args := range []string{
		"--depth 10 --codec ffv1 --noise 2", "--pixel-format gray10le --codec ffv1 --noise 2", "--pixel-format gray16le --codec ffv1 --noise 2",
		"--pixel-format yuv420p10le --codec hevc --noise 2", "--pixel-format gray10le --codec ffv1 -r 1",
	} {
		out := filepath.Join(t.TempDir(), "out.mkv")
		in := filepath.Join(t.TempDir(), "in.y4m") // of mono, whose range is full
		e2e.Must(t, os.WriteFile(in, []byte("YUV4MPEG2 W64 H64 F25:1 Ip A1:1 Cmono\nFRAME\n"+strings.Repeat("\xff", 64*64)), 0o666))
		mustRun(t, slices.Concat(quiet, []string{"-i", in, "-o", out}, strings.Fields(args))...)
		clip := openClip(t, out, nil, hostPool(t), nil)
		f := next(t, clip)
		least := 255.
		for _, v := range levels(f, 0, 32) {
			least = min(least, v)
		}
		if least < 255 || f.Layout.Info().Depth == 8 {
			t.Errorf("%s: white becomes %.2f of 255 in %v", args, least, f.Layout)
		}
		f.Release()
		clip.Close()
	}
}

// Gray of two depths is compared in its own range.
func TestCompareGray(t *testing.T) {
	in, scores := drawn(t, "in.y4m", "mono", 64, 48, 2), map[string]float64{}
	for _, depth := range []string{"8", "10"} {
		out := filepath.Join(t.TempDir(), "out.mkv")
		mustRun(t, append(quiet, "-i", in, "-o", out, "--codec", "ffv1", "-r", "2", "--depth", depth)...)
		scores[depth] = psnr(t, in, out)
	}
	if math.Abs(scores["8"]-scores["10"]) > 0.8 {
		t.Errorf("the PSNR of a result is %.2f in 8 bits and %.2f in 10", scores["8"], scores["10"])
	}
}

// squareError returns the mean square of the difference of two videos, in 8-bit levels.
func squareError(t *testing.T, a, b string) float64 {
	t.Helper()
	pool := hostPool(t)
	x, y := openClip(t, a, nil, pool, nil), openClip(t, b, nil, pool, nil)
	defer x.Close()
	defer y.Close()
	sum, n := 0., 0
	for f, g := next(t, x), next(t, y); f != nil && g != nil; f, g = next(t, x), next(t, y) {
		for i, row := range f.Rows() {
			v, w := levels(f, i, row), levels(g, i, row)
			for k := range v {
				sum += (v[k] - w[k]) * (v[k] - w[k])
			}
			n += len(v)
		}
		f.Release()
		g.Release()
	}
	if n == 0 {
		t.Fatalf("%s has no pictures", a)
	}
	return sum / float64(n)
}

// levels returns the samples of a row in 8-bit levels.
func levels(f *pipeline.Frame, i, y int) (all []float64) {
	row, info := f.Row(i, y), f.Layout.Info()
	unit := math.Ldexp(1, info.Depth-8)
	if i == 0 && f.FullRange {
		unit = (math.Ldexp(1, info.Depth) - 1) / 255
	}
	for x := 0; x < len(row); x += info.SampleBytes() {
		v := uint16(row[x])
		if info.SampleBytes() == 2 {
			v = binary.LittleEndian.Uint16(row[x:]) >> info.Shift
		}
		all = append(all, float64(v)/unit)
	}
	return all
}

// A pixel format has a depth, and --depth another one.
func TestDepthExcludes(t *testing.T) {
	for args, want := range map[string]string{
		"--depth 10 --pixel-format yuv420p":                    "--depth 10 and --pixel-format yuv420p, which has 8 bits, exclude each other",
		"--depth 12":                                           "libx264 does not code samples of 12 bits",
		"--format png --depth 10":                              "it codes 8, 16 bits",
		"--format mkv --codec prores --depth 8":                "it codes 10 bits",
		"--format mkv --codec dnxhd --depth 10":                "it codes 8 bits; --preset hqx or 444 has 10",
		"--codec av1 --depth 12":                               "it codes 8, 10 bits",
		"--codec hevc --hwaccel nvenc --depth 12":              "hevc_nvenc does not code samples of 12 bits",
		"--hwaccel nvenc --depth 10":                           "h264_nvenc does not code samples of 10 bits",
		"--codec hevc --depth 16 --encoder-params lossless=1 ": "it codes 8, 10, 12 bits",
	} {
		_, err := Parse(base(strings.Fields(args)...), nil)
		wantUsage(t, err, want)
	}
	for args, want := range map[string][2]int{
		"--codec hevc --depth auto": {0, 10}, "--codec av1 --depth auto": {0, 10}, "--codec hevc --hwaccel nvenc --depth auto": {0, 10},
		"--depth auto": {}, "--format mkv --codec ffv1 --depth auto": {}, "--codec hevc": {}, "--codec hevc --depth 12": {12, 0},
		"--codec hevc --depth auto --pixel-format yuv444p": {}, "--depth 10 --pixel-format yuv420p10le": {10, 0},
	} {
		o := parsed(t, base(strings.Fields(args)...)...)
		if got := [2]int{o.depth(), o.leastDepth()}; got != want {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}
