package job

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/internal/units"
	"vidfilter/internal/units/unitstest"
	"vidfilter/pipeline"
)

// drawn writes a video of moving slopes and some noise, in a layout by its name in YUV4MPEG2: 420,
// 422, 444, mono, each with p10 or p12 for more bits.
func drawn(t *testing.T, name, layout string, width, height, frames int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	e2e.Must(t, err)
	w := bufio.NewWriter(f)
	kind, deep, _ := strings.Cut(layout, "p")
	depth := 8
	if deep != "" {
		_, err := fmt.Sscan(deep, &depth)
		e2e.Must(t, err)
	}
	fmt.Fprintf(w, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s\n", width, height, layout)
	noise := uint32(1)
	for n := range frames {
		fmt.Fprintln(w, "FRAME")
		for i := range 3 {
			if i > 0 && kind == "mono" {
				break
			}
			pw, ph := width, height
			if i > 0 && kind != "444" {
				pw /= 2
			}
			if i > 0 && kind == "420" {
				ph /= 2
			}
			for y := range ph {
				for x := range pw {
					noise = noise*1664525 + 1013904223
					v := (60 + (x*(2-i)+y*(i+1)+4*n)%120) << (depth - 8)
					v += int(noise >> 30)
					e2e.Must(t, w.WriteByte(byte(v)))
					if depth > 8 {
						e2e.Must(t, w.WriteByte(byte(v>>8)))
					}
				}
			}
		}
	}
	e2e.Must(t, w.Flush())
	e2e.Must(t, f.Close())
	return path
}

// quiet are options of the jobs of these tests.
var quiet = []string{"-v", "--sandbox", "off", "--progress", "none"}

// encoded describes the video of a file.
type encoded struct {
	codec  string
	format pipeline.Format
	frames int
	facts  map[string]string
}

func whatIsIn(t *testing.T, path string) encoded {
	t.Helper()
	in := openClip(t, path, nil, hostPool(t), nil)
	defer in.Close()
	e := encoded{codec: in.Video().CodecParameters().CodecID().Name()}
	for f := next(t, in); f != nil; f = next(t, in) {
		e.format = f.Format
		e.frames++
		f.Release()
	}
	for _, i := range in.Facts() {
		if i.Kind == fidelity.Video {
			e.facts = i.Values
		}
	}
	return e
}

// psnr returns the PSNR between two files in dB.
func psnr(t *testing.T, a, b string) float64 {
	t.Helper()
	score, err := CompareVideos(context.Background(), Clip{a, decode.Options{Threads: 1}}, Clip{b, decode.Options{Threads: 1}})
	e2e.Must(t, err)
	return score.PSNR()
}

// Jobs with NVENC differ from jobs on the CPU only in the encoder: same frames, similar quality,
// same tags.
func TestNVENC(t *testing.T) {
	if !onDriver(t) {
		return
	}
	const width, height, frames = 208, 144, 7
	clips := map[string]string{}
	for _, layout := range []string{"420", "422", "444", "420p10", "444p10", "mono"} {
		clips[layout] = drawn(t, layout+".y4m", layout, width, height, frames)
	}
	hdr := filepath.Join(t.TempDir(), "hdr.mp4")
	mustRun(t, append(quiet, "-i", clips["420p10"], "-o", hdr, "-r", "0", "--codec", "hevc", "--preset", "ultrafast", "--encoder-params",
		"colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited:chromaloc=2:max-cll=1000,400:"+
			"master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)")...)
	for _, c := range []struct {
		name, clip, args, to string
		codec                string
		layout               pipeline.Layout
		says                 string
	}{
		{"h264", clips["420"], "-r 1 --hwaccel nvenc", "mp4", "h264", pipeline.YUV420P, ""},
		{"cpu filters", clips["420"], "-r 1 --hwaccel nvenc --device cpu", "mkv", "h264", pipeline.YUV420P, "filtering on cpu"},
		{"two devices", clips["420"], "-r 1 --hwaccel nvenc --device cuda:0,1", "mp4", "h264", pipeline.YUV420P, ""},
		{"as it is", clips["420"], "-r 0 --hwaccel nvenc --preset fast --crf 20", "mov", "h264", pipeline.YUV420P, ""},
		{"stream", clips["420"], "-r 1 --codec hevc --hwaccel nvenc --bitrate 5M --gop 4", "ts", "hevc", pipeline.YUV420P, ""},
		{"look-ahead", clips["420"], "-r 1 --encoder hevc_nvenc --preset slow --encoder-params spatial-aq=1:aq-strength=5", "mp4", "hevc", pipeline.YUV420P, ""},
		{"lossless", clips["420"], "-r 0 --hwaccel nvenc --tune lossless", "mp4", "h264", pipeline.YUV420P, ""},
		{"fast", clips["420"], "-r 1 --hwaccel auto,nvenc --preset ultrafast", "mp4", "h264", pipeline.YUV420P, ""},
		{"denoiser", clips["420"], "--quality fast --frames 3 --hwaccel nvenc", "mp4", "h264", pipeline.YUV420P, ""},
		{"compare", clips["420"], "-r 1 --compare side --hwaccel nvenc", "mp4", "h264", pipeline.YUV420P, ""},
		{"gray", clips["mono"], "-r 1 --hwaccel nvenc", "mp4", "h264", pipeline.YUV420P, ""},
		{"converted", clips["422"], "-r 1 --hwaccel nvenc --pixel-format yuv420p", "mp4", "h264", pipeline.YUV420P, ""},
		{"full", clips["444"], "-r 1 --hwaccel nvenc", "mkv", "h264", pipeline.YUV444P, ""},
		{"less", clips["420p10"], "-r 1 --codec h264 --hwaccel nvenc --pixel-format yuv420p", "mkv", "h264", pipeline.YUV420P, ""},
		{"deep", clips["420p10"], "-r 1 --hwaccel nvenc", "mkv", "hevc", pipeline.YUV420P.At(10), "the output is HEVC"},
		{"deep and full", clips["444p10"], "-r 1 --hwaccel nvenc", "mkv", "hevc", pipeline.YUV444P.At(10), "the output is HEVC"},
		{"deeper", clips["420"], "-r 1 --codec hevc --hwaccel nvenc --depth 10", "mkv", "hevc", pipeline.YUV420P.At(10), ""},
		{"deeper by itself", clips["420"], "--quality fast --frames 3 --codec av1 --hwaccel nvenc --depth auto", "mkv", "av1", pipeline.YUV420P.At(10), "10 bits a sample, which players of AV1 take"},
		{"fewer", clips["420p10"], "-r 1 --codec h264 --hwaccel nvenc --depth 8", "mkv", "h264", pipeline.YUV420P, ""},
		{"hdr", hdr, "-r 1 --hwaccel nvenc", "mp4", "hevc", pipeline.YUV420P.At(10), "in PQ: the output is HEVC"},
		{"av1", clips["420"], "-r 1 --codec av1 --hwaccel nvenc", "mp4", "av1", pipeline.YUV420P, ""},
		{"deep av1", hdr, "-r 1 --encoder av1_nvenc", "webm", "av1", pipeline.YUV420P.At(10), ""},
	} {
		dir := t.TempDir()
		out, software := filepath.Join(dir, "nvenc."+c.to), filepath.Join(dir, "software.mkv")
		args := slices.Concat(quiet, []string{"-i", c.clip}, strings.Fields(c.args))
		code, said := runJob(t, append(args, "-o", out)...)
		if code != 0 || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit code %d; it says\n%s\nwithout %q", c.name, code, said, c.says)
			continue
		}
		args = slices.DeleteFunc(args, func(a string) bool { return strings.Contains(a, "spatial") || a == "--encoder-params" })
		for i, a := range args {
			switch {
			case args[max(i-1, 0)] == "--hwaccel":
				args[i] = "none"
			case strings.HasSuffix(a, "_nvenc"):
				args[i-1], args[i] = "--codec", c.codec
			case args[max(i-1, 0)] == "--tune":
				args[i] = "ssim"
			case args[max(i-1, 0)] == "--preset" && c.codec != "av1", a == "medium":
				args[i] = "ultrafast"
			}
		}
		if code, said := runJob(t, append(args, "-o", software)...); code != 0 {
			t.Errorf("%s: without NVENC, exit code %d:\n%s", c.name, code, said)
			continue
		}
		got, want := whatIsIn(t, out), whatIsIn(t, software)
		if got.codec != c.codec || got.format.Layout != c.layout || got.frames != want.frames ||
			got.format.Width != want.format.Width || got.format.Height != want.format.Height {
			t.Errorf("%s: %s, %v, %d frames; want %s of %v, %d frames", c.name, got.codec, got.format, got.frames, c.codec, c.layout, want.frames)
		}
		for _, key := range []string{"primaries", "transfer", "matrix", "range", "chroma_location", "mastering_display", "content_light", "sample_aspect", "duration", "rate"} {
			if c.clip == hdr && got.facts[key] != want.facts[key] {
				t.Errorf("%s: %s is %q, want %q", c.name, key, got.facts[key], want.facts[key])
			}
		}
		if d := psnr(t, out, software); d < 36 {
			t.Errorf("%s: %.1f dB from what software encodes", c.name, d)
		}
		if c.name == "lossless" {
			if d := psnr(t, out, c.clip); d < 90 {
				t.Errorf("lossless, and %.1f dB", d)
			}
		}
	}
}

// NVENC's settings follow the options.
func TestNVENCSettings(t *testing.T) {
	if !onDriver(t) {
		return
	}
	clip, large := drawn(t, "clip.y4m", "420", 208, 144, 6), drawn(t, "large.y4m", "420", 1920, 1080, 1)
	slow, quick := drawn(t, "slow.y4m", "420", 1280, 720, 1), filepath.Join(t.TempDir(), "quick.y4m")
	e2e.Must(t, os.WriteFile(quick, bytes.Replace(e2e.Read(t, slow), []byte("F25:1"), []byte("F60:1"), 1), 0o600))
	for _, c := range []struct{ clip, args, want string }{
		{clip, "", "preset=p4 tuning=hq rc=vbr quality=18 average=0 max=0 gop=250 interval=4 look-ahead=0 aq=0 temporal-aq=0 rate=25/1"},
		{clip, "--preset ultrafast", "preset=p1 interval=1 look-ahead=0"},
		{clip, "--preset superfast", "preset=p1"},
		{clip, "--preset veryfast", "preset=p1"},
		{clip, "--preset faster", "preset=p2"},
		{clip, "--preset fast", "preset=p3"},
		{clip, "--preset slow", "preset=p5 look-ahead=16"},
		{clip, "--preset slower --codec hevc", "preset=p6 look-ahead=20"},
		{clip, "--preset veryslow --codec av1", "preset=p7 look-ahead=24"},
		{clip, "--preset p6", "preset=p6 look-ahead=0"},
		{clip, "--preset slow --tune ll", "tuning=ll preset=p5 interval=1 look-ahead=0"},
		{clip, "--preset slow --tune ull", "tuning=ull look-ahead=0"},
		{clip, "--preset slow --encoder-params rc-lookahead=0", "look-ahead=0"},
		{clip, "--preset slow --encoder-params rc-lookahead=7:temporal-aq=1", "look-ahead=7 temporal-aq=1"},
		{clip, "--encoder-params spatial-aq=1:aq-strength=5", "aq=5"},
		{clip, "--crf 23.5", "rc=vbr quality=23.5 average=0 max=0"},
		{clip, "--codec hevc", "quality=20"},
		{clip, "--codec av1", "quality=24"},
		{clip, "--bitrate 5M", "rc=vbr quality=0 average=5000000"},
		{clip, "--bitrate 800k --encoder-params maxrate=900000", "rc=vbr quality=0 average=800000 max=900000"},
		{clip, "--crf 30 --encoder-params maxrate=900000", "rc=vbr quality=30 average=0 max=900000"},
		{clip, "--encoder-params cq=31", "rc=vbr quality=31"},
		{clip, "--encoder-params qp=23", "rc=constqp qp=23 quality=0"},
		{clip, "--encoder-params rc=constqp:init_qpP=24", "rc=constqp qp=24 quality=0"},
		{clip, "--encoder-params rc=cbr --bitrate 5M", "rc=cbr quality=0 average=5000000"},
		{clip, "--gop 100", "gop=100 interval=4"},
		{clip, "--gop 1", "gop=1 interval=0"},
		{clip, "--gop 1 --codec hevc --preset veryslow", "gop=1 interval=0"},
		{clip, "--gop 1 --codec av1", "gop=1 interval=0"},
		{clip, "--gop 2", "gop=2 interval=1"},
		{clip, "--gop 8 --preset p7", "gop=8 interval=1"},
		{clip, "--gop 4 --encoder-params bf=1", "gop=4 interval=2"},
		{clip, "--gop 9", "gop=9 interval=4"},
		{clip, "", "profile=high"},
		{clip, "--encoder-params profile=main", "profile=main"},
		{clip, "--pixel-format yuv444p", "profile=high444"},
		{clip, "--tune lossless", "tuning=lossless rc=constqp qp=0 quality=0 profile=auto"},
		{clip, "--codec hevc", "profile=main"},
		{clip, "--codec hevc --pixel-format yuv420p10le", "profile=main10"},
		{clip, "--codec av1 --crf 63", "rc=vbr quality=63 average=0 max=0"},
		{clip, "--codec hevc --crf 50.5", "rc=vbr quality=50.5 average=0 max=0"},
		// The high tier is from level 4 on.
		{large, "--codec hevc", "tier=1"},
		{large, "--codec av1", "tier=1"},
		{quick, "--codec hevc", "tier=1 rate=60/1"},
		{slow, "--codec hevc", "tier=0 rate=25/1"},
		{slow, "--codec av1", "tier=0"},
		{large, "--codec hevc --bitrate 5M", "tier=0"},
		{large, "--codec hevc --encoder-params tier=main", "tier=0"},
		{large, "--codec hevc --encoder-params level=5", "tier=0"},
		{large, "--codec av1 --encoder-params maxrate=20000000", "tier=0"},
		{slow, "--codec av1 --encoder-params tier=1", "tier=1"},
	} {
		settings := filepath.Join(t.TempDir(), "settings")
		t.Setenv(testdriver.EncoderVariable, "settings="+settings)
		out := filepath.Join(t.TempDir(), "out.mp4")
		code, said := runJob(t, slices.Concat(quiet, []string{"-i", c.clip, "-o", out, "-r", "0", "--hwaccel", "nvenc"}, strings.Fields(c.args))...)
		if code != 0 {
			t.Errorf("%s: exit code %d:\n%s", c.args, code, said)
			continue
		}
		got := strings.Fields(string(e2e.Read(t, settings)))
		for _, want := range strings.Fields(c.want) {
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %s in %s", c.args, want, got)
			}
		}
		if keys := keyFrames(t, out); slices.Contains(got, "gop=1") && keys != 6 {
			t.Errorf("%s: %d of 6 frames are key frames", c.args, keys)
		}
	}
}

// keyFrames counts the key frames of a file's video.
func keyFrames(t *testing.T, path string) (n int) {
	t.Helper()
	fc := astiav.AllocFormatContext()
	defer fc.Free()
	e2e.Must(t, fc.OpenInput(path, nil, nil))
	defer fc.CloseInput()
	p := astiav.AllocPacket()
	defer p.Free()
	for fc.ReadFrame(p) == nil {
		if p.Flags().Has(astiav.PacketFlagKey) {
			n++
		}
		p.Unref()
	}
	return n
}

// NVENC's pictures carry the same metadata as other encoders': HDR10+, Dolby Vision, captions and
// so on. Losses are reported.
func TestNVENCUnits(t *testing.T) {
	if !testdriver.OnDevice(t, "") {
		return
	}
	if os.Getenv(testdriver.RealDevice) != "" {
		needsNVENC(t)
	}
	b, err := gpu.Open(gpu.Options{})
	e2e.Must(t, err)
	t.Cleanup(func() { e2e.Must(t, b.Close()) })
	clip := drawn(t, "clip.y4m", "420p10", 192, 144, 12)
	for _, c := range []struct {
		codec, format, lost string
	}{
		{"h264", "mp4", "[Dolby Vision timecodes of pictures]"},
		{"hevc", "mp4", "[]"},
		{"hevc", "mpegts", "[]"},
		{"av1", "matroska", "[alternative transfer ambient viewing film grain parameters]"},
	} {
		e, err := b.Encoding()
		e2e.Must(t, err)
		pixelFormat := "yuv420p10le"
		if c.codec == "h264" {
			pixelFormat = "yuv420p"
		}
		if layout, _, _ := av.LayoutOf(astiav.FindPixelFormatByName(pixelFormat)); e.Supports(c.codec, layout, 192, 144) != nil {
			t.Logf("this GPU does not encode %s in %s", c.codec, pixelFormat)
			e.Close()
			continue
		}
		in := openClip(t, clip, nil, hostPool(t), nil)
		path := filepath.Join(t.TempDir(), "out")
		out, err := encode.Create("file:"+path, encode.Template{Context: in.Context(), Video: in.Video(), Facts: in.Facts},
			encode.Options{Format: c.format, Encoder: c.codec + "_nvenc", Preset: "fast", GOP: 9, CRF: 20, PixelFormat: pixelFormat, Device: e})
		e2e.Must(t, err)
		n := 0
		for f := next(t, in); f != nil; f = next(t, in) {
			f.Props().(*av.Props).Units = unitstest.All(n)
			e2e.Must(t, out.Put(context.Background(), f))
			n++
		}
		e2e.Must(t, out.Finish(context.Background()))
		e2e.Must(t, out.Verify())
		if got := fmt.Sprint(out.NotKept(nil)); got != c.lost {
			t.Errorf("%s in %s: not kept: %s instead of %s", c.codec, c.format, got, c.lost)
		}
		out.Close()
		in.Close()
		e.Close()
		stream := units.StreamOf(c.codec, nil)
		back := openClip(t, path, nil, hostPool(t), nil)
		for k := range n {
			f := next(t, back)
			if f == nil {
				t.Fatalf("%s in %s: %d frames", c.codec, c.format, k)
			}
			for _, want := range unitstest.All(k) {
				kept := stream.Carries(want.Kind) && (c.codec != "h264" || want.Kind != units.Timecode)
				has := slices.ContainsFunc(av.Units(f), func(u units.Unit) bool { return u.Kind == want.Kind && bytes.Equal(u.Payload, want.Payload) })
				if has != kept {
					t.Errorf("%s in %s, picture %d: %v: %v, want %v", c.codec, c.format, k, want.Kind, has, kept)
				}
			}
			f.Release()
		}
		back.Close()
	}
}

// NVDEC's pictures go to NVENC, filtered or not, and never to the host.
func TestNVENCAfterNVDEC(t *testing.T) {
	folder := t.TempDir()
	for _, args := range []string{"-r 1", "-r 0"} {
		t.Run(args, func(t *testing.T) {
			clip, ok := onNVDEC(t, folder, "h264.mp4", "")
			if !ok {
				return
			}
			if os.Getenv(testdriver.RealDevice) != "" {
				needsNVENC(t)
			}
			out := filepath.Join(t.TempDir(), "out.mp4")
			code, said := runJob(t, slices.Concat(quiet, []string{"-i", clip, "-o", out, "--hwaccel", "nvdec,nvenc"}, strings.Fields(args))...)
			if code != 0 || !strings.Contains(said, "decoding h264 on the GPU") {
				t.Fatalf("exit code %d:\n%s", code, said)
			}
			if d := psnr(t, out, clip); d < 25 {
				t.Errorf("%.1f dB", d)
			}
		})
	}
}

// Graphs around a filter on the GPU take NVDEC's pictures, and NVENC takes theirs: the same frames
// at the same times as with the CPU's decoder and encoder.
func TestChainsOnDevice(t *testing.T) {
	folder := t.TempDir()
	for name, rows := range map[string][]string{
		"parts.mp4": {
			"-r 0 --before fps=2", "-r 1 --before scale=192:96 --after framestep=2", "-r 1 --crop 128:48 --sharpen 0.3 --scale 2 --fps 1.5",
			"-r 0 --after tpad=stop=2,setpts=1.5*PTS", "--quality fast --noise 5 --frames 6 --before hflip --after fps=2",
		},
		"parts-fields.mp4": {"-r 1 --deinterlace bob", "-r 1 --deinterlace", "-r 1 --before bwdif=1 --after scale=192:96 --start 3.3"},
	} {
		t.Run(name, func(t *testing.T) {
			clip, ok := onNVDEC(t, folder, name, "")
			if !ok {
				return
			}
			if os.Getenv(testdriver.RealDevice) != "" {
				needsNVENC(t)
			}
			for i, args := range rows {
				dir := t.TempDir()
				run := func(to, how string, more ...string) string {
					out := filepath.Join(dir, strings.Map(func(r rune) rune { return max(r, 'a') }, how)+to)
					code, said := runJob(t, slices.Concat(quiet, []string{"-i", clip, "-o", out, "--device", "cuda", "--hwaccel", how}, strings.Fields(args), more)...)
					if code != 0 || strings.Contains(how, "nvdec") && !strings.Contains(said, "decoding h264 on the GPU") {
						t.Fatalf("%s --hwaccel %s: exit code %d:\n%s", args, how, code, said)
					}
					return out
				}
				want := run(".mkv", "none", "--codec", "ffv1")
				sameVideos(t, want, run(".mkv", "nvdec", "--codec", "ffv1"))
				hows := []string{"nvdec,nvenc"}
				if i == 0 { // one row stands for the others, whose frames come from the CPU in the same way
					hows = append(hows, "nvenc")
				}
				for _, how := range hows {
					got := run(".mkv", how)
					if a, b := timesOf(t, got), timesOf(t, want); !slices.Equal(a, b) {
						t.Errorf("%s --hwaccel %s: the times are %v, not %v", args, how, a, b)
					} else if d := psnr(t, got, want); d < 25 {
						t.Errorf("%s --hwaccel %s: %.1f dB", args, how, d)
					}
				}
			}
		})
	}
}

// timesOf returns the times of a file's frames, in its unit.
func timesOf(t *testing.T, path string) (all []int64) {
	t.Helper()
	in := openClip(t, path, nil, hostPool(t), nil)
	for f := next(t, in); f != nil; f = next(t, in) {
		all = append(all, f.PTS)
		f.Release()
	}
	return all
}

// onDriver runs a test on the test driver alone: it asks for faults, or for NVENC on any machine.
// It is false in the process that has a child run the test.
func onDriver(t *testing.T) bool {
	t.Helper()
	return testdriver.OnDevice(t, "devices=2")
}

// needsNVENC skips a test on a chip without NVENC.
func needsNVENC(t *testing.T) {
	t.Helper()
	devices, err := gpu.Devices()
	e2e.Must(t, err)
	if all, err := devices[0].Encodes(); err != nil || len(all) == 0 {
		t.Skipf("asks for what only the test driver has, and chips with NVENC: %v", err)
	}
}

// A device that cannot encode is refused by name, with advice, before anything is written.
func TestNVENCRefuses(t *testing.T) {
	if !onDriver(t) {
		return
	}
	clips := map[string]string{}
	for _, layout := range []string{"420", "422", "444p10", "420p12"} {
		clips[layout] = drawn(t, layout+".y4m", layout, 208, 144, 2)
	}
	wide := drawn(t, "wide.y4m", "420", 4112, 64, 1)
	small, odd := drawn(t, "small.y4m", "420", 128, 32, 1), drawn(t, "odd.y4m", "444", 209, 145, 1)
	for _, c := range []struct {
		encoder, clip, args string
		code                int
		says                string
	}{
		{"none=1", clips["420"], "", contract.ExitDevice, "has no NVENC"},
		{"version=111", clips["420"], "", contract.ExitDevice, "the driver is too old: it has NVENC 11.1, and 12.1 is needed"},
		{"sessions=0", clips["420"], "", contract.ExitDevice, "opens no further session"},
		{"opens=2", clips["420"], "", contract.ExitDevice, "opens no further session"},
		{"av1=0", clips["420"], "--codec av1", contract.ExitDevice, "does not encode av1"},
		{"deep=0", clips["444p10"], "", contract.ExitDevice, "does not encode hevc of yuv444p10le"},
		{"full=0", clips["444p10"], "", contract.ExitDevice, "does not encode hevc of yuv444p10le"},
		{"side=200", clips["420"], "", contract.ExitDevice, "NVENC cannot encode 208x144: this GPU encodes up to 200x200"},
		{"", small, "", contract.ExitDevice, "NVENC cannot encode 128x32: this GPU encodes from 145x49 on"},
		{"", wide, "", contract.ExitDevice, "up to 4096x4096; --codec hevc --hwaccel nvenc takes it"},
		{"", odd, "", contract.ExitOutput, "cannot encode 209x145: its sides must be even"},
		{"", clips["422"], "", contract.ExitDevice, "does not encode h264 of yuv422p"},
		{"", clips["420p12"], "", contract.ExitDevice, "does not encode hevc of yuv420p12le"},
		{"", clips["444p10"], "--codec av1", contract.ExitDevice, "does not encode av1 of yuv444p10le"},
		{"lossless=0", clips["420"], "--tune lossless", contract.ExitDevice, "NVENC: Lossless encoding not supported"},
		{"lookahead=0", clips["420"], "--preset slow", contract.ExitDevice, "NVENC: RC lookahead not supported"},
		{"temporal=0", clips["420"], "--encoder-params temporal-aq=1", contract.ExitDevice, "NVENC: Temporal AQ not supported"},
		{"", clips["420"], "--encoder-params rc-lookahead=40:bf=9", contract.ExitDevice, "NVENC: Max B-frames 9 exceed 4"},
	} {
		t.Setenv(testdriver.EncoderVariable, c.encoder)
		out := filepath.Join(t.TempDir(), "out.mp4")
		o := parsed(t, slices.Concat(quiet, []string{"-i", c.clip, "-o", out, "-r", "1", "--hwaccel", "nvenc"}, strings.Fields(c.args))...)
		checkRefusal(t, c.encoder+" "+c.args, o, c.code, c.says)
	}
}

// errorOf runs a job and returns its error.
func errorOf(o *Options) error {
	u := o.OpenUI(terminal.Stdio{Err: io.Discard, Out: io.Discard})
	defer u.Close("")
	_, err := Run(context.Background(), o, u, nil)
	return err
}

// checkRefusal runs a job that must fail with a message and advice, and leave no file.
func checkRefusal(t *testing.T, name string, o *Options, code int, says string) {
	t.Helper()
	err := errorOf(o)
	if got := contract.ExitCode(err); got != code || !strings.Contains(fmt.Sprintf("%v; %s", err, hint.Of(err)), says) || hint.Of(err) == "" {
		t.Errorf("%s: exit code %d, want %d: %v (%s); want %q and advice", name, got, code, err, hint.Of(err), says)
	}
	if e2e.Exists(o.Output) {
		t.Errorf("%s: there is a file", name)
	}
}

// Each call of a job to NVENC fails once: the job ends with an error and without a file, or its
// result is complete.
func TestNVENCFaults(t *testing.T) {
	if !onDriver(t) {
		return
	}
	clip := drawn(t, "clip.y4m", "420", 160, 96, 5)
	log := filepath.Join(t.TempDir(), "log")
	run := func(encoder string) (out string, err error) {
		t.Setenv(testdriver.EncoderVariable, encoder)
		out = filepath.Join(t.TempDir(), "out.mp4")
		o := parsed(t, append(quiet, "-i", clip, "-o", out, "-r", "1", "--hwaccel", "nvenc", "--preset", "ultrafast")...)
		return out, errorOf(o)
	}
	_, err := run("log=" + log)
	e2e.Must(t, err)
	calls := strings.Fields(string(e2e.Read(t, log)))
	seen := map[string]int{}
	for i, name := range calls {
		seen[name]++
		out, err := run(fmt.Sprintf("call=%d", i+1))
		switch {
		case err == nil:
			if got := whatIsIn(t, out); got.frames != 5 {
				t.Errorf("%s fails, and %d frames are there, without an error", name, got.frames)
			}
		case contract.ExitCode(err) != contract.ExitDevice || !strings.Contains(err.Error(), "NVENC") || hint.Of(err) == "" || e2e.Exists(out):
			t.Errorf("%s: exit code %d: %v", name, contract.ExitCode(err), err)
		default:
			t.Logf("%s: %v", name, err)
		}
	}
	if len(seen) < 17 {
		t.Errorf("only %d functions are called: %v", len(seen), seen)
	}
}

// A job that runs out of device memory reports it and leaves no file.
func TestNVENCWithoutMemory(t *testing.T) {
	for _, at := range []string{"1", "18", "20", "22", "24", "20+"} {
		t.Run(at, func(t *testing.T) {
			if !testdriver.OnDevice(t, "alloc="+at) {
				return
			}
			out := filepath.Join(t.TempDir(), "out.mp4")
			o := parsed(t, append(quiet, "-i", drawn(t, "clip.y4m", "420", 160, 96, 6), "-o", out, "-r", "1", "--hwaccel", "nvenc")...)
			err := errorOf(o)
			t.Log(err)
			if err != nil && (contract.ExitCode(err) != contract.ExitDevice || !strings.Contains(err.Error(), "out of memory") || !strings.Contains(hint.Of(err), "memory") || e2e.Exists(out)) {
				t.Errorf("exit code %d: %v, hint %q", contract.ExitCode(err), err, hint.Of(err))
			}
			if err == nil && whatIsIn(t, out).frames != 6 {
				t.Error("frames are missing")
			}
			if err == nil && (at == "1" || at == "20+") {
				t.Error("no error")
			}
		})
	}
}
