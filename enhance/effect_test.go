package enhance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// ffmpeg runs a graph on a source, both in FFmpeg's syntax, and returns the samples and the log.
func ffmpeg(t *testing.T, args ...string) (samples []byte, log string) {
	t.Helper()
	e2e.NeedsFFmpeg(t)
	var stderr bytes.Buffer
	c := exec.Command("ffmpeg", append([]string{"-nostats", "-hide_banner"}, args...)...)
	c.Stderr = &stderr
	samples, err := c.Output()
	if err != nil {
		t.Fatalf("ffmpeg %q: %v: %s", args, err, stderr.String())
	}
	return samples, stderr.String()
}

func must(t *testing.T, option, value string, f Facts) string {
	t.Helper()
	text, err := graph(option, value, f)
	if err != nil || text == "" {
		t.Fatalf("--%s %s: %q, %v", option, value, text, err)
	}
	return text
}

func source(src string) []string { return []string{"-f", "lavfi", "-i", src} }

// number reads a number, inf too.
func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Error(err)
	}
	return x
}

// shown matches showinfo's line about a frame.
var shown = regexp.MustCompile(`pts_time:(\S+) .*fmt:(\S+) .*sar:(\S+) s:(\S+) i:(.)`)

// TestScaleEffect looks at sizes, shapes, fields and layouts of results.
func TestScaleEffect(t *testing.T) {
	for _, c := range []struct {
		width, height, num, den int
		layout                  pipeline.Layout
		value, want             string
	}{
		{180, 144, 16, 15, pipeline.YUV420P, "288p", "yuv420p 1/1 384x288"},
		{180, 144, 64, 45, pipeline.YUV420P, "288p", "yuv420p 1/1 512x288"},
		{180, 144, 64, 45, pipeline.YUV422P.At(10), "1", "yuv422p10le 1/1 256x144"},
		{90, 160, 1, 1, pipeline.YUV420P, "144p", "yuv420p 1/1 144x256"},
		{320, 132, 1, 1, pipeline.YUV444P.At(12), "144p", "yuv444p12le 1/1 256x106"},
		{159, 91, 1, 1, pipeline.GRAY, "0.5", "gray 1/1 80x46"},
		{160, 90, 1, 1, pipeline.GBRP, "80:", "gbrp 1/1 80x44"},
	} {
		f := video(c.width, c.height).shaped(c.num, c.den).in(c.layout)
		text := must(t, "scale", c.value, f)
		src := fmt.Sprintf("testsrc2=s=%dx%d:r=25,setsar=%d/%d,format=%v", c.width, c.height, c.num, c.den, c.layout)
		_, log := ffmpeg(t, append(source(src), "-vf", text+",showinfo", "-frames:v", "1", "-f", "null", "-")...)
		if m := shown.FindStringSubmatch(log); m == nil || strings.Join(m[2:5], " ") != c.want {
			t.Errorf("--scale %s of %v: %v, want %s", c.value, f.Format, m, c.want)
		}
	}
}

// TestScaleChroma scales ramps: colours must not move against luma.
func TestScaleChroma(t *testing.T) {
	const width, height = 160, 120
	src := fmt.Sprintf("nullsrc=s=%dx%d:r=25,format=yuv420p16,geq=lum='(200+X)*64':cb='(200+2*X)*64':cr='(200+4*Y)*64'", width, height)
	f := video(width, height).in(pipeline.YUV420P.At(16))
	for _, factor := range []float64{0.5, 2} {
		b, _ := ffmpeg(t, append(source(src), "-vf", must(t, "scale", fmt.Sprint(factor), f), "-frames:v", "1", "-f", "rawvideo", "-")...)
		w, h := int(width*factor), int(height*factor)
		sample := func(i int) float64 { return float64(binary.LittleEndian.Uint16(b[2*i:])) / 64 }
		luma := func(x float64) float64 { return (x+0.5)/factor - 0.5 } // where a result lies in the source
		x, y := w/4, h/4                                                // of chroma, which is sited as in MPEG-2
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"luma", sample(h/2*w + w/2), 200 + luma(float64(w/2))},
			{"cb", sample(w*h + y*w/2 + x), 200 + luma(float64(2*x))},
			{"cr", sample(w*h*5/4 + y*w/2 + x), 200 + 2*(luma(float64(2*y)+0.5)-0.5)},
		} {
			if math.Abs(c.got-c.want) > 0.1 { // the ripple of lanczos
				t.Errorf("factor %v: %s %.3f, want %.3f", factor, c.name, c.got, c.want)
			}
		}
	}
}

// TestDeinterlaceEffect: pictures come near those that were woven, with times in order; progressive
// frames stay as they are.
func TestDeinterlaceEffect(t *testing.T) {
	f := video(160, 120).fields()
	const smooth = "nullsrc=s=160x120:r=50,format=yuv420p,geq=lum='128+60*sin((X+2*N)/9)+30*cos(Y/8)':cb=128:cr=128,trim=end_frame=12"
	for _, order := range []string{"interleave_top", "interleave_bottom"} {
		woven := smooth + ",tinterlace=mode=" + order
		_, log := ffmpeg(t, append(source(woven+","+must(t, "deinterlace", "bob", f)+",showinfo"), "-f", "null", "-")...)
		all := shown.FindAllStringSubmatch(log, -1)
		if len(all) != 12 {
			t.Fatalf("%s: %d frames", order, len(all))
		}
		for i, m := range all {
			if want := float64(i) * 0.02; math.Abs(number(t, m[1])-want) > 1e-4 || m[5] != "P" {
				t.Errorf("%s: frame %d at %s, fields %s; want %.3f, P", order, i, m[1], m[5], want)
			}
		}
		_, log = ffmpeg(t, append(source(woven+","+must(t, "deinterlace", "bob", f)), "-filter_complex", "[0]null[a];"+smooth+"[b];[a]settb=1/50[c];[c][b]psnr", "-f", "null", "-")...)
		if m := regexp.MustCompile(`PSNR y:(\S+)`).FindStringSubmatch(log); m == nil || number(t, m[1]) < 36 {
			t.Errorf("%s: PSNR %v dB, want 36", order, m)
		}
	}
	was, _ := ffmpeg(t, append(source(smooth), "-f", "rawvideo", "-")...)
	is, _ := ffmpeg(t, append(source(smooth), "-vf", must(t, "deinterlace", "bob", f), "-fps_mode", "passthrough", "-f", "rawvideo", "-")...)
	if !bytes.Equal(was, is) {
		t.Error("progressive frames changed")
	}
}

// TestRateEffect looks at the times of frames of a video that has gaps.
func TestRateEffect(t *testing.T) {
	src := "testsrc2=s=32x32:r=60,select='not(between(n,7,20))',trim=end=1"
	_, log := ffmpeg(t, append(source(src), "-vf", must(t, "fps", "ntsc-film", video(32, 32))+",showinfo", "-f", "null", "-")...)
	all := shown.FindAllStringSubmatch(log, -1)
	for i, m := range all {
		if want := float64(i) * 1001 / 24000; math.Abs(number(t, m[1])-want) > 1e-5 {
			t.Errorf("frame %d at %s, want %f", i, m[1], want)
		}
	}
	if len(all) != 24 {
		t.Errorf("%d frames of a second, want 24", len(all))
	}
}

// TestPictureEffect: sharpening and debanding keep the layout, and flat parts as they are.
func TestPictureEffect(t *testing.T) {
	psnr := regexp.MustCompile(`PSNR .*min:(\S+)`)
	for _, l := range []pipeline.Layout{
		pipeline.YUV420P, pipeline.YUV422P.At(10), pipeline.YUV420P.At(14), pipeline.GRAY, pipeline.GBRP.At(10), pipeline.RGBA,
	} {
		for _, option := range []string{"sharpen", "deband"} {
			value := map[string]string{"sharpen": "0.5"}[option]
			src := fmt.Sprintf("color=c=0x6080A0:s=64x48:r=25,trim=end_frame=1,format=%v", l)
			g := "split[a][b];[a]" + must(t, option, value, video(64, 48).in(l)) + ",showinfo[c];[c][b]psnr"
			_, log := ffmpeg(t, append(source(src), "-filter_complex", g, "-f", "null", "-")...)
			if m := shown.FindStringSubmatch(log); m == nil || m[2] != l.String() {
				t.Errorf("--%s of %v: %v", option, l, m)
			}
			if m := psnr.FindStringSubmatch(log); m == nil || number(t, m[1]) < 50 {
				t.Errorf("--%s of %v: flat parts change: %v", option, l, m)
			}
		}
	}
}

// TestDebandEffect: bands of a gradient become weaker, with 8 bits in and out.
func TestDebandEffect(t *testing.T) {
	const width, height = 256, 64
	src := fmt.Sprintf("nullsrc=s=%dx%d:r=25,format=yuv420p,geq=lum='60+floor(X/32)':cb=128:cr=128", width, height)
	banding := func(graph string) float64 { // of means over 8 by 64 samples
		b, _ := ffmpeg(t, append(source(src), "-vf", graph, "-frames:v", "1", "-f", "rawvideo", "-")...)
		sum := 0.0
		for x := 32; x < width-32; x += 8 {
			mean := 0.0
			for y := range height {
				for i := range 8 {
					mean += float64(b[y*width+x+i]) / (8 * height)
				}
			}
			truth := 60 + (float64(x)+3.5)/32 - 0.5
			sum += (mean - truth) * (mean - truth)
		}
		return math.Sqrt(sum / (width/8 - 8))
	}
	was, is := banding("null"), banding(must(t, "deband", "", video(width, height)))
	if t.Logf("banding %.3f, was %.3f", is, was); is > 0.6*was {
		t.Errorf("banding %.3f, was %.3f", is, was)
	}
}

// TestCropTurned crops a video from a phone as ffmpeg does, which turns pictures first.
func TestCropTurned(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	plain := filepath.Join(t.TempDir(), "plain.mp4")
	ffmpeg(t, append(source("testsrc2=s=160x96:r=25:d=0.08"), "-c:v", "mpeg4", "-q:v", "2", plain)...)
	file, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(file, []byte("tkhd")) + 44 // the matrix
	for _, c := range []struct {
		name, turn string
		matrix     [9]int32
	}{
		{"90", "transpose=clock", turned90}, {"180", "hflip,vflip", turned180}, {"270", "transpose=cclock", turned270},
	} {
		path := filepath.Join(t.TempDir(), c.name+".mp4")
		for i, n := range c.matrix {
			binary.BigEndian.PutUint32(file[at+4*i:], uint32(n))
		}
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		f := video(160, 96).turned(c.matrix)
		const box = "48:40:30:10"
		want, _ := ffmpeg(t, "-i", path, "-vf", "crop="+box, "-f", "rawvideo", "-")
		got, _ := ffmpeg(t, "-noautorotate", "-i", path, "-vf", must(t, "crop", box, f)+","+c.turn, "-f", "rawvideo", "-")
		if !bytes.Equal(got, want) {
			t.Errorf("%s degrees: %d bytes are not those of ffmpeg's crop, %d", c.name, len(got), len(want))
		}
	}
}
