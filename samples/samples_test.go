package samples_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/samples/scene"
)

var update = flag.Bool("update", false, "write the checksums of what the generator makes into frames.sha256")

// The committed clips, as make.sh makes them.
const (
	frames = 72
	noise  = 9 * 256
	width  = 640
	height = 360
)

func config(noise int) scene.Config {
	return scene.Config{Width: width, Height: height, Frames: frames, RateNum: 24, RateDen: 1, Noise: noise, Seed: 1}
}

func render(t *testing.T, cfg scene.Config) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := scene.WriteY4M(&b, cfg); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// readSums reads a file in the format of sha256sum.
func readSums(t *testing.T, name string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			t.Fatalf("%s: line %q: want a sum and a name", name, line)
		}
		sums[f[1]] = f[0]
	}
	return sums
}

// TestGenerated checks that the generator makes the same bits as ever, on any machine.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	if err := scene.WriteTracks(dir, config(0)); err != nil {
		t.Fatal(err)
	}
	odd := scene.Config{Width: 1441, Height: 811, Frames: 2, RateNum: 30000, RateDen: 1001, Noise: 2500, Seed: 7}
	names := []string{"clean.y4m", "noisy.y4m", "odd.y4m", "audio.wav", "subtitles.srt", "chapters.txt"}
	made := map[string][]byte{
		"clean.y4m": render(t, config(0)),
		"noisy.y4m": render(t, config(noise)),
		"odd.y4m":   render(t, odd),
	}
	for _, name := range names[3:] {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		made[name] = b
	}
	if *update {
		var out strings.Builder
		for _, name := range names {
			fmt.Fprintf(&out, "%s  %s\n", sum(made[name]), name)
		}
		if err := os.WriteFile("frames.sha256", []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := readSums(t, "frames.sha256")
	for _, name := range names {
		if got := sum(made[name]); got != want[name] {
			t.Errorf("%s: sha256 %s, want %s", name, got, want[name])
		}
	}
}

func TestThreads(t *testing.T) {
	for _, size := range [][2]int{{640, 360}, {333, 181}, {17, 16}, {64, 301}} {
		cfg := config(noise)
		cfg.Width, cfg.Height, cfg.Frames, cfg.Threads = size[0], size[1], 3, 1
		want := render(t, cfg)
		for _, threads := range []int{2, 5, 16} {
			cfg.Threads = threads
			if !bytes.Equal(render(t, cfg), want) {
				t.Errorf("%dx%d: frames of %d threads differ from those of one", size[0], size[1], threads)
			}
		}
	}
}

// TestNoise checks that the grain is as strong as a filter wants it, has no bias, and is not the
// same in each frame.
func TestNoise(t *testing.T) {
	clean, noisy := planes(t, render(t, config(0))), planes(t, render(t, config(noise)))
	for i, want := range [3][2]float64{{28, 31}, {36, 41}, {36, 41}} {
		if p := psnr(clean[i], noisy[i]); p < want[0] || p > want[1] {
			t.Errorf("plane %d: PSNR %.2f dB, want %v to %v", i, p, want[0], want[1])
		} else {
			t.Logf("plane %d: PSNR %.2f dB", i, p)
		}
		var diff int
		for j := range clean[i] {
			diff += int(noisy[i][j]) - int(clean[i][j])
		}
		if mean := float64(diff) / float64(len(clean[i])); math.Abs(mean) > 0.05 {
			t.Errorf("plane %d: mean noise %.3f, want 0", i, mean)
		}
	}
	const n = width * height
	var product, power int
	for j := range n {
		a := int(noisy[0][j]) - int(clean[0][j])
		b := int(noisy[0][j+n]) - int(clean[0][j+n])
		product += a * b
		power += a * a
	}
	if r := float64(product) / float64(power); math.Abs(r) > 0.02 {
		t.Errorf("correlation of the noise of two frames is %.3f, want 0", r)
	}
}

// TestRange checks that the scene stays in limited range; the grain may leave it.
func TestRange(t *testing.T) {
	for i, plane := range planes(t, render(t, config(0))) {
		lo, hi := byte(255), byte(0)
		for _, v := range plane {
			lo, hi = min(lo, v), max(hi, v)
		}
		if top := []byte{235, 240, 240}[i]; lo < 16 || hi > top {
			t.Errorf("plane %d: values %d to %d, want 16 to %d", i, lo, hi, top)
		}
	}
}

type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrors(t *testing.T) {
	if err := scene.WriteY4M(&failing{3 << 20}, config(0)); !errors.Is(err, errFull) {
		t.Errorf("full disk: error %v, want %v", err, errFull)
	}
	for name, change := range map[string]func(*scene.Config){
		"size":   func(c *scene.Config) { c.Width = 15 },
		"frames": func(c *scene.Config) { c.Frames = 0 },
		"rate":   func(c *scene.Config) { c.RateDen = 0 },
		"noise":  func(c *scene.Config) { c.Noise = -1 },
	} {
		cfg := config(0)
		change(&cfg)
		if err := scene.WriteY4M(io.Discard, cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("bad %s: error %v", name, err)
		}
	}
}

func TestCommitted(t *testing.T) {
	sums := readSums(t, "SHA256SUMS")
	for _, name := range []string{"clean.mp4", "noisy.mp4"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := sum(b); got != sums[name] {
			t.Errorf("%s: sha256 %s, want %s", name, got, sums[name])
		}
	}
}

// TestDecode checks that the committed clips hold the frames that the generator makes.
func TestDecode(t *testing.T) {
	e2e.Needs(t, "ffmpeg")
	for name, c := range map[string]struct {
		noise int
		want  float64 // dB after the encoder's loss, which spends its bits on grain
	}{"clean.mp4": {0, 39}, "noisy.mp4": {noise, 32.5}} {
		out, err := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-i", name,
			"-map", "0:v", "-f", "yuv4mpegpipe", "-").Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, raw := planes(t, out), planes(t, render(t, config(c.noise)))
		if len(got[0]) != len(raw[0]) {
			t.Fatalf("%s: %d frames, want %d", name, len(got[0])/(width*height), frames)
		}
		for i := range got {
			p := psnr(got[i], raw[i])
			t.Logf("%s: plane %d: PSNR %.2f dB against the generator", name, i, p)
			if p < c.want {
				t.Errorf("%s: plane %d: PSNR %.2f dB, want %v", name, i, p, c.want)
			}
		}
	}
}

func TestStreams(t *testing.T) {
	e2e.Needs(t, "ffprobe")
	for _, name := range []string{"clean.mp4", "noisy.mp4"} {
		out, err := exec.Command("ffprobe", "-v", "error", "-of", "json",
			"-show_streams", "-show_chapters", "-show_format", name).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got struct {
			Streams []struct {
				Codec     string            `json:"codec_name"`
				Frames    string            `json:"nb_frames"`
				Range     string            `json:"color_range"`
				Matrix    string            `json:"color_space"`
				Primaries string            `json:"color_primaries"`
				Transfer  string            `json:"color_transfer"`
				Tags      map[string]string `json:"tags"`
			} `json:"streams"`
			Chapters []struct {
				Tags map[string]string `json:"tags"`
			} `json:"chapters"`
			Format struct {
				Tags map[string]string `json:"tags"`
			} `json:"format"`
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.Streams) < 3 || len(got.Chapters) != 3 {
			t.Fatalf("%s: %d streams and %d chapters, want at least 3 and 3", name, len(got.Streams), len(got.Chapters))
		}
		v, a, s := got.Streams[0], got.Streams[1], got.Streams[2]
		have := []string{v.Codec, v.Frames, v.Range, v.Matrix, v.Primaries, v.Transfer,
			a.Codec, a.Tags["language"], s.Codec, s.Tags["language"],
			got.Chapters[1].Tags["title"], got.Format.Tags["title"]}
		want := []string{"h264", fmt.Sprint(frames), "tv", "bt709", "bt709", "bt709",
			"aac", "eng", "mov_text", "eng", "Balloons", "Dusk at the lake"}
		for i := range want {
			if have[i] != want[i] {
				t.Errorf("%s: have %q, want %q", name, have[i], want[i])
			}
		}
	}
}

func BenchmarkFrame4K(b *testing.B) {
	cfg := config(noise)
	cfg.Width, cfg.Height = 3840, 2160
	r, err := scene.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	frame := make([]byte, r.FrameSize())
	b.SetBytes(int64(len(frame)))
	n := 0
	for b.Loop() {
		r.Frame(frame, n)
		n++
	}
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "threads")
}

// planes takes a 640x360 YUV4MPEG2 stream apart: all luma, all U, all V.
func planes(t *testing.T, y4m []byte) (p [3][]byte) {
	t.Helper()
	_, rest, ok := bytes.Cut(y4m, []byte("\n"))
	for len(rest) > 0 && ok {
		_, rest, ok = bytes.Cut(rest, []byte("\n")) // the FRAME line
		for i, n := range [3]int{width * height, width * height / 4, width * height / 4} {
			if len(rest) < n {
				t.Fatal("stream ends within a frame")
			}
			p[i] = append(p[i], rest[:n]...)
			rest = rest[n:]
		}
	}
	return p
}

func psnr(a, b []byte) float64 {
	var sum int
	for i := range a {
		d := int(a[i]) - int(b[i])
		sum += d * d
	}
	return 10 * math.Log10(255*255*float64(len(a))/float64(sum))
}
