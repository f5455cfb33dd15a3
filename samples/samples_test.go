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
	"sync"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

var update = flag.Bool("update", false, "write the checksums of what the generator makes into frames.sha256")

// The committed clips, as make.sh makes them, and how many of their frames are drawn here.
const (
	frames = 72
	drawn  = 8
	noise  = 9 * 256
	width  = 640
	height = 360
)

func config(noise int) scene.Config {
	return scene.Config{Width: width, Height: height, Frames: drawn, RateNum: 24, RateDen: 1, Noise: noise, Seed: 1}
}

func render(cfg scene.Config) []byte {
	var b bytes.Buffer
	if err := scene.WriteY4M(&b, cfg); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// clips holds the first frames of the committed clips, by their noise.
var clips = map[int]func() []byte{
	0:     sync.OnceValue(func() []byte { return render(config(0)) }),
	noise: sync.OnceValue(func() []byte { return render(config(noise)) }),
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// TestGenerated checks that the generator makes the same bits as ever, on any machine.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	long := config(0)
	long.Frames = frames
	e2e.Must(t, scene.WriteTracks(dir, long))
	odd := scene.Config{Width: 1441, Height: 811, Frames: 2, RateNum: 30000, RateDen: 1001, Noise: 2500, Seed: 7}
	names := []string{"clean.y4m", "noisy.y4m", "odd.y4m", "tape.y4m", "audio.wav", "subtitles.srt", "chapters.txt"}
	made := map[string][]byte{
		"clean.y4m": clips[0](),
		"noisy.y4m": clips[noise](),
		"odd.y4m":   render(odd),
		"tape.y4m":  tape(720, 576, 5*256),
	}
	for _, name := range names[4:] {
		made[name] = e2e.Read(t, filepath.Join(dir, name))
	}
	if *update {
		var out strings.Builder
		for _, name := range names {
			fmt.Fprintf(&out, "%s  %s\n", sum(made[name]), name)
		}
		e2e.Must(t, os.WriteFile("frames.sha256", []byte(out.String()), 0o666))
	}
	for line := range strings.Lines(string(e2e.Read(t, "frames.sha256"))) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := sum(made[name]); got != want {
			t.Errorf("%s: sha256 %s, want %s", name, got, want)
		}
		delete(made, name)
	}
	if len(made) > 0 {
		t.Errorf("%d sums are missing", len(made))
	}
}

// tape returns a clip of one frame from WriteTape.
func tape(width, height, noise int) []byte {
	var b bytes.Buffer
	if err := scene.WriteTape(&b, scene.Config{Width: width, Height: height, Frames: 1, RateNum: 25, RateDen: 1, Noise: noise, Seed: 1}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestTape checks that frames are interlaced 4:2:2, and that noise adds the faults of a tape.
func TestTape(t *testing.T) {
	const w, h = 192, 144
	clean, worn := tape(w, h, 0), tape(w, h, 6*256)
	header, _, _ := bytes.Cut(clean, []byte("\n"))
	if want := len(header) + 1 + len("FRAME\n") + 2*w*h; len(clean) != want || len(worn) != want || !bytes.Contains(header, []byte(" It ")) {
		t.Errorf("%d and %d bytes, want %d: %s", len(clean), len(worn), want, header)
	}
	clean, worn = clean[len(clean)-2*w*h:], worn[len(worn)-2*w*h:]
	lost, sky := 0, 0.0
	for k := range w * h / 4 {
		if d := float64(worn[k]) - float64(clean[k]); d > 60 {
			lost++
		} else {
			sky += d * d
		}
	}
	if sigma := math.Sqrt(sky / (w * h / 4)); sigma < 5 || sigma > 7.5 || lost < 20 {
		t.Errorf("noise of 6 measures %.2f, with %d lost samples", sigma, lost)
	}
	lines := func(plane []byte, from int) []byte { return plane[w*(h-from) : w*(h-from+8)] }
	above, switched := psnr(lines(clean, 32), lines(worn, 32)), psnr(lines(clean, 8), lines(worn, 8))
	if switched > above-1 {
		t.Errorf("PSNR of the head-switching lines is %.1f dB, and %.1f dB above them", switched, above)
	}
	if err := scene.WriteTape(io.Discard, scene.Config{Width: 33, Height: 32, Frames: 1, RateNum: 25, RateDen: 1}); err == nil {
		t.Error("a line of 33 samples is accepted")
	}
}

// TestNoise checks that the grain is as strong as a filter wants it, has no bias, and is not the
// same in each frame.
func TestNoise(t *testing.T) {
	clean, noisy := planes(t, clips[0]()), planes(t, clips[noise]())
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

// TestRange checks that the scene stays in limited range, which the grain may leave.
func TestRange(t *testing.T) {
	for i, plane := range planes(t, clips[0]()) {
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

func TestFullDisk(t *testing.T) {
	if err := scene.WriteY4M(&failing{1 << 20}, config(0)); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
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
			"-map", "0:v", "-frames:v", fmt.Sprint(drawn), "-f", "yuv4mpegpipe", "-").Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, raw := planes(t, out), planes(t, clips[c.noise]())
		if len(got[0]) != len(raw[0]) {
			t.Fatalf("%s: %d frames, want %d", name, len(got[0])/(width*height), drawn)
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
	frame := pipeline.Blank(cfg.Format())
	b.SetBytes(3840 * 2160 * 3 / 2)
	n := 0
	for b.Loop() {
		cfg.Draw(frame, n)
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
