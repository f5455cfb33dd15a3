// Package library tests the output of make lib, beside the program.
package library

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, 1) }

// lib builds the library once, and returns its folder.
func lib(t *testing.T) string {
	t.Helper()
	out, err := built()
	if err != nil {
		t.Fatalf("build the library: %v\n%s", err, out)
	}
	return folder()
}

func folder() string { return filepath.Join(e2e.Work, "lib") }

var built = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("../../../scripts/lib.sh", folder()).CombinedOutput()
})

// compile compiles a C program of testdata with the address sanitizer.
func compile(t *testing.T, name string, flags ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	args := []string{"-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		"-o", to, "testdata/" + name + ".c"}
	e2e.Run(t, "gcc", append(args, flags...)...)
	return to
}

// run runs a program that must succeed with an empty stderr, and returns its output.
func run(t *testing.T, stdin []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &stderr)
	}
	return out
}

const noisy = "-f lavfi -i testsrc2=s=160x120:r=25:d=1 -vf noise=alls=20:allf=t"

// raw returns the samples of a video in a pixel format.
func raw(t *testing.T, video, format string) []byte {
	t.Helper()
	return e2e.Run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", video, "-f", "rawvideo", "-pix_fmt", format, "-")
}

// filtered returns the samples of the program's result.
func filtered(t *testing.T, video, format, options string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.mkv")
	args := []string{"-q", "-i", video, "-o", out, "--codec", "ffv1"}
	for _, o := range strings.Split(options, ":") {
		args = append(args, "--"+o)
	}
	run(t, nil, e2e.Program, args...)
	return raw(t, out, format)
}

// TestSymbols: other programs see the interface only.
func TestSymbols(t *testing.T) {
	e2e.Start(t, false)
	so := filepath.Join(lib(t), "libvidfilter.so.1")
	header := e2e.Read(t, filepath.Join(lib(t), "vidfilter.h"))
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^\w.*?(vidfilter_\w+)\(`).FindAllSubmatch(header, -1) {
		want = append(want, string(m[1]))
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(string(e2e.Run(t, "nm", "-D", "--defined-only", so))), "\n") {
		if f := strings.Fields(line); f[1] == "T" {
			name, _, _ := strings.Cut(f[2], "@")
			got = append(got, name)
		} else if f[2] != "VIDFILTER_1" {
			t.Errorf("symbol %s", line)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) > 10 {
		t.Errorf("the library has %q, the header %q", got, want)
	}
	if dynamic := e2e.Run(t, "readelf", "-d", so); !bytes.Contains(dynamic, []byte("soname: [libvidfilter.so.1]")) || bytes.Contains(dynamic, []byte("libav")) {
		t.Errorf("%s", dynamic)
	}
}

// TestCalls uses the library as its header allows, and against it, under the address sanitizer. The
// GPU is the test driver's, which is slow and keeps memory.
func TestCalls(t *testing.T) {
	e2e.Start(t, false)
	dir := lib(t)
	flags := []string{"-I", dir, "-L", dir, "-lvidfilter", "-Wl,-rpath," + dir, "-pthread"}
	if out := run(t, nil, compile(t, "check", flags...), "cpu"); len(out) > 0 {
		t.Errorf("%s", out)
	}
	driver, err := testdriver.Folder()
	e2e.Must(t, err)
	out := run(t, nil, "env", "LD_LIBRARY_PATH="+driver, "ASAN_OPTIONS=detect_leaks=0", compile(t, "check", append(flags, "-DN=12")...), "cuda")
	if len(out) > 0 {
		t.Errorf("on the test driver:\n%s", out)
	}
}

// TestExample: the example and the program make the same samples.
func TestExample(t *testing.T) {
	e2e.Start(t, false)
	clip := e2e.Clip(t, "noisy.y4m", noisy+" -pix_fmt yuv420p")
	for _, options := range []string{
		"quality=fast:device=cpu",
		"strength=1.4:chroma=0.5:grain=0.2:quality=good:threads=1:device=cpu",
		"temporal-only:noise=7:repair:quality=fast:device=cpu",
		"deflicker:radius=1:device=cpu",
		"radius=2:device=cpu",
	} {
		out := filepath.Join(t.TempDir(), "out.y4m")
		e2e.Put(t, out, run(t, e2e.Read(t, clip), filepath.Join(lib(t), "denoise"), options))
		if !bytes.Equal(raw(t, out, "yuv420p"), filtered(t, clip, "yuv420p", options)) {
			t.Errorf("%s: the library makes other samples than the program", options)
		}
	}
}

// TestRefused: errors name the option and the remedy.
func TestRefused(t *testing.T) {
	e2e.Start(t, false)
	clip := e2e.Read(t, e2e.Clip(t, "noisy.y4m", noisy+" -pix_fmt yuv420p"))
	for options, want := range map[string]string{
		"strength=9":                 `--strength "9": must be a number, 0.5 to 2`,
		"strenth=1":                  "did you mean --strength?",
		"strength=1:=2":              `"=2" is no option`,
		"quality":                    "--quality needs a value",
		"radius=2:chroma=1":          "give one of the two",
		"temporal-only:noise=x":      "--noise",
		"temporal-only:spatial-only": "exclude each other",
		"sharpen=0.3:device=cpu":     "--sharpen is a filter of FFmpeg, which this library is built without",
		"deinterlace=bob:device=cpu": "--deinterlace is a filter of FFmpeg",
		"chroma-shift=auto":          "looks at a whole video",
		"device=cuda:300":            "no such number of a GPU",
	} {
		cmd := exec.Command(filepath.Join(lib(t), "denoise"), options)
		cmd.Stdin = bytes.NewReader(clip)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %.300s, want %q", options, err, out, want)
		}
	}
}

// TestFrei0r: Debian's ffmpeg loads the plugin, and gets less noise.
func TestFrei0r(t *testing.T) {
	e2e.Start(t, false)
	path := "FREI0R_PATH=" + filepath.Join(lib(t), "frei0r-1")
	clean, clip := e2e.Clip(t, "clean.y4m", "-f lavfi -i testsrc2=s=160x120:r=25:d=1 -pix_fmt yuv420p"), e2e.Clip(t, "noisy.y4m", noisy+" -pix_fmt yuv420p")
	noise := func(filter string) float64 {
		out := filepath.Join(t.TempDir(), "out.y4m")
		e2e.Run(t, "env", path, "ffmpeg", "-v", "error", "-nostdin", "-i", clip, "-vf", filter, "-pix_fmt", "yuv420p", out)
		var sum float64
		got, want := raw(t, out, "yuv420p"), raw(t, clean, "yuv420p")
		if len(got) != len(want) {
			t.Fatalf("%s: %d bytes of %d", filter, len(got), len(want))
		}
		for i := range got {
			d := float64(got[i]) - float64(want[i])
			sum += d * d / float64(len(got))
		}
		return sum
	}
	before, after := noise("format=rgba"), noise(`frei0r=vidfilter:0.333|0.25|0|quality=fast\\:device=cpu`)
	if t.Logf("noise %.1f, %.1f by frei0r", before, after); after > before/1.7 {
		t.Errorf("the squares of the noise are %.1f, and %.1f without the filter", after, before)
	}
	if same := noise("frei0r=vidfilter:0.333|0.25|0|strenth=1"); same != before {
		t.Errorf("with a wrong option, %.1f of %.1f", same, before)
	}
}

// TestVapourSynth: in a host of our own, the plugin makes the program's samples, in any order of
// requests, for all integer formats.
func TestVapourSynth(t *testing.T) {
	e2e.Start(t, false)
	host := compile(t, "vapoursynth", "-I", "../../../capi/plugins", "-ldl")
	plugin := filepath.Join(lib(t), "vapoursynth", "vidfilter.so")
	const frames = 25
	for _, c := range []struct {
		format             string // FFmpeg's
		family, bits, w, h int
	}{
		{"yuv420p", 3, 8, 1, 1}, {"yuv422p10le", 3, 10, 1, 0}, {"yuv444p12le", 3, 12, 0, 0}, {"yuv420p16le", 3, 16, 1, 1},
		{"yuv420p9le", 3, 9, 1, 1}, {"yuv444p14le", 3, 14, 0, 0}, {"gray", 1, 8, 0, 0}, {"gray16le", 1, 16, 0, 0}, {"gbrp", 2, 8, 0, 0}, {"gbrp12le", 2, 12, 0, 0},
	} {
		clip := e2e.Clip(t, c.format+".nut", noisy+" -pix_fmt "+c.format+" -c:v rawvideo")
		show := func(numbers string, args ...string) []byte {
			in := raw(t, clip, c.format)
			if c.family == 2 {
				in = rotated(in, frames, 2)
			}
			list := []string{plugin, strconv.Itoa(c.family), strconv.Itoa(c.bits), strconv.Itoa(c.w), strconv.Itoa(c.h), "160", "120", strconv.Itoa(frames), numbers}
			out := run(t, in, host, append(append(list, "device=d:cpu", "lossless=i:1"), args...)...)
			if c.family == 2 {
				out = rotated(out, len(out)*frames/len(in), 1)
			}
			return out
		}
		var all []string
		for n := range frames {
			all = append(all, strconv.Itoa(n))
		}
		whole := show(strings.Join(all, ","), "quality=d:fast", "strength=f:1.25")
		if want := filtered(t, clip, c.format, "quality=fast:strength=1.25:device=cpu"); !bytes.Equal(whole, want) {
			t.Errorf("%s: in order, %d bytes are not the program's %d", c.format, len(whole), len(want))
		}
		if c.bits > 8 {
			continue
		}
		order := []int{24, 3, 22, 23, 0, 2, 1, 18, 17, 16, 5, 20}
		size, text := len(whole)/frames, strings.Trim(strings.ReplaceAll(fmt.Sprint(order), " ", ","), "[]")
		part := show(text, "quality=d:fast", "strength=f:1.25")
		for i, n := range order {
			if md5.Sum(part[i*size:][:size]) != md5.Sum(whole[n*size:][:size]) {
				t.Errorf("%s: frame %d, asked for out of order, is another than in order", c.format, n)
			}
		}
	}
	in := raw(t, e2e.Clip(t, "yuv420p.nut", noisy+" -pix_fmt yuv420p -c:v rawvideo"), "yuv420p")
	for _, c := range []struct{ bits, option, want string }{
		{"11", "strength=f:1", `pixel format "yuv420p11le" cannot be filtered`},
		{"8", "strength=f:7", `--strength "7.000": must be a number`},
		{"8", "quality=d:super", "good"},
		{"8", "options=d:fps=50", "is a filter of FFmpeg"},
	} {
		out := run(t, in, host, plugin, "3", c.bits, "1", "1", "160", "120", "2", "0", c.option)
		if !strings.HasPrefix(string(out), "vidfilter: ") || !strings.Contains(string(out), c.want) {
			t.Errorf("%+v: %.200s", c, out)
		}
	}
}

// rotated puts plane i+by of each frame in the place of plane i: 2 makes RGB of GBR, 1 the reverse.
func rotated(b []byte, frames, by int) (all []byte) {
	size := len(b) / frames / 3
	for n := range frames {
		for i := range 3 {
			all = append(all, b[(3*n+(i+by)%3)*size:][:size]...)
		}
	}
	return all
}

// TestNoFFmpeg: the library does without FFmpeg and the codecs.
func TestNoFFmpeg(t *testing.T) {
	e2e.Start(t, true)
	cmd := exec.Command("go", "list", "-deps", "-tags", "nolibav", "vidfilter/capi")
	out, err := cmd.Output()
	e2e.Must(t, err)
	for _, p := range strings.Fields(string(out)) {
		if strings.Contains(p, "astiav") || p == "vidfilter/decode" || p == "vidfilter/encode" || p == "vidfilter/internal/av" {
			t.Errorf("the library links %s", p)
		}
	}
}
