package media

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// Options around the main filter make the frames and times of ffmpeg with the graph that they stand
// for.
func TestStagesBesideFFmpeg(t *testing.T) {
	e2e.Start(t, false)
	film := clip(t, "stages-film.mkv", "-f lavfi -i testsrc2=s=192x144:r=25:d=0.6 -c:v ffv1 -pix_fmt yuv420p")
	deep := clip(t, "stages-deep.mkv", "-f lavfi -i testsrc2=s=192x144:r=25:d=0.4 -c:v ffv1 -pix_fmt yuv422p10le")
	rgb := clip(t, "stages-rgb.mkv", "-f lavfi -i testsrc2=s=192x144:r=25:d=0.4 -c:v ffv1 -pix_fmt gbrp")
	tape := clip(t, "stages-tape.mkv", "-f lavfi -i testsrc2=s=192x144:r=50:d=0.6 -vf interlace,setfield=tff -c:v ffv1 -pix_fmt yuv420p")
	// FFmpeg's releases differ in the first and last field, which lack a neighbour.
	skipped := map[string]int{tape: 2 * 192 * 144 * 3 / 2}
	inner := func(in string, samples []byte) []byte { return samples[skipped[in] : len(samples)-skipped[in]] }
	for _, c := range []struct{ in, with, graph, pixels string }{
		{film, "--before hflip --after 'scale=96:-2,negate'", "hflip,scale=96:-2,negate", "yuv420p"},
		{film, "--after curves=preset=negative", "curves=preset=negative", "yuv420p"},
		{film, "--crop 160:96:16:24", "crop=160:96:16:24", "yuv420p"},
		{film, "--chroma-shift -4,2", "chromashift=cbh=-2:cbv=1:crh=-2:crv=1:edge=smear", "yuv420p"},
		{film, "--scale 0.5", "zscale=w=96:h=72:filter=lanczos,setsar=1", "yuv420p"},
		{film, "--fps 10", "fps=10", "yuv420p"},
		{film, "--sharpen 0.5", "unsharp=5:5:0.5:5:5:0", "yuv420p"},
		{film, "--deinterlace", "null", "yuv420p"},
		{film, "--deflicker", "null", "yuv420p"},
		{deep, "--crop 160:96 --sharpen 0.5 --scale 96:-2", "crop=160:96:16:24,unsharp=5:5:0.5:5:5:0,zscale=w=96:h=58:filter=lanczos,setsar=1", "yuv422p10le"},
		{rgb, "--before vflip --crop 160:96", "vflip,crop=160:96:16:24", "gbrp"},
		{tape, "--deinterlace bob", "bwdif=mode=send_field:deint=interlaced", "yuv420p"},
		{tape, "--deinterlace=bob --fps 25", "bwdif=mode=send_field:deint=interlaced,fps=25", "yuv420p"},
	} {
		out, said := filter(t, c.in, "mkv", "--codec ffv1 "+c.with)
		want := output("mkv")
		run(t, "ffmpeg", "-v", "error", "-y", "-i", c.in, "-vf", c.graph, "-c:v", "ffv1", "-pix_fmt", c.pixels, want)
		if got := probe(t, out).video(t).PixFmt; got != c.pixels && c.in != rgb { // of 8 bits, FFV1 has other names
			t.Errorf("%s: %s, not %s", c.with, got, c.pixels)
		}
		if !bytes.Equal(inner(c.in, raw(t, out, c.pixels)), inner(c.in, raw(t, want, c.pixels))) {
			t.Errorf("%s: other samples than of %s: %s", c.with, c.graph, said)
		}
		sameTimes(t, c.with, times(t, out), times(t, want), 0.0011)
	}
}

// --deflicker brings a flickering scene close to the steady original, and the job reports it.
func TestDeflicker(t *testing.T) {
	e2e.Start(t, false)
	steady := clip(t, "steady.mkv", "-f lavfi -i testsrc2=s=160x120:r=25:d=0.8 -c:v ffv1 -pix_fmt yuv420p")
	in := clip(t, "flickers.mkv", "-i @steady.mkv -vf eq=gamma='1+0.08*sin(2.5*n)':eval=frame -c:v ffv1 -pix_fmt yuv420p")
	out, said := filter(t, in, "mkv", "--codec ffv1 --deflicker")
	luma := func(path string) []byte { return raw(t, path, "gray") }
	was, is := psnr(luma(in), luma(steady)), psnr(luma(out), luma(steady))
	if is < was+6 || !strings.Contains(said, "flicker: the brightness of 20 of 20 frames is changed") {
		t.Errorf("%.1f dB, and %.1f dB before: %s", is, was, said)
	}
}

// The denoiser works between graphs, at every depth and in RGB.
func TestStagesAroundDenoiser(t *testing.T) {
	e2e.Start(t, false)
	for _, pixels := range []string{"yuv420p", "yuv420p10le", "gbrp"} {
		in := clip(t, "stages-noisy-"+pixels+".mkv", "-f lavfi -i testsrc2=s=160x128:r=25:d=0.4 -vf noise=alls=20:allf=t -c:v ffv1 -pix_fmt "+pixels)
		around, _ := filter(t, in, "mkv", "--codec ffv1 --filter denoise --noise 8 --before vflip --after vflip,crop=128:96")
		turned, _ := filter(t, in, "mkv", "--codec ffv1 --before vflip")
		alone, _ := filter(t, turned, "mkv", "--codec ffv1 --filter denoise --noise 8")
		want, _ := filter(t, alone, "mkv", "--codec ffv1 --after vflip,crop=128:96")
		if !bytes.Equal(raw(t, around, pixels), raw(t, want, pixels)) {
			t.Errorf("%s: the job differs from its stages one after the other", pixels)
		}
	}
}

// A recording that turns interlaced later has its fields taken apart from there on, in the times of
// its beginning. AVI has no time between two frames.
func TestStagesOfLateFields(t *testing.T) {
	e2e.Start(t, false)
	const h264 = " -c:v libx264 -preset ultrafast -pix_fmt yuv420p -f h264"
	film := e2e.Read(t, clip(t, "turns-film.h264", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4"+h264))
	tape := e2e.Read(t, clip(t, "turns-tape.h264", "-f lavfi -i testsrc2=s=96x64:r=50:d=0.4 -vf interlace -flags +ildct+ilme"+h264))
	put(t, "turns-both.h264", slices.Concat(film, tape))
	put(t, "turns-back.h264", slices.Concat(film, tape, film))
	for _, c := range []struct {
		name, way, in string
		pictures      int
	}{
		{"turns.mkv", "single", "turns-both.h264", 20}, {"turns.mkv", "bob", "turns-both.h264", 30},
		{"turns.mkv", "best", "turns-both.h264", 30}, {"turns.avi", "auto", "turns-both.h264", 20},
		{"turns.avi", "bob", "turns-both.h264", 20}, {"turns-back.mkv", "bob", "turns-back.h264", 40},
	} {
		in := clip(t, c.name, "-fflags +genpts -r 25 -i @"+c.in+" -c copy")
		out, _ := filter(t, in, "mp4", "--deinterlace="+c.way)
		got, last := times(t, out), 0.0
		for i, at := range got {
			if d := at - last; i > 0 && math.Abs(d-0.04) > 0.0015 && math.Abs(d-0.02) > 0.0015 {
				t.Errorf("%s %s: picture %d comes %f after the one before", c.name, c.way, i, d)
			}
			last = at
		}
		if len(got) != c.pictures {
			t.Errorf("%s %s: %d pictures, not %d", c.name, c.way, len(got), c.pictures)
		}
	}
}

// Tape with bars, fields and pixels that are not square becomes a progressive video of square ones.
func TestStagesOfTape(t *testing.T) {
	e2e.Start(t, false)
	tape := clip(t, "stages-tape.dv", "-f lavfi -i testsrc2=s=720x432:r=50:d=0.6 -f lavfi -i sine=d=0.6:r=48000"+
		" -vf pad=720:576:0:72,interlace=lowpass=off,setsar=64/45,format=yuv420p,setfield=tff -ac 2")
	out, said := filter(t, tape, "mp4", "--filter denoise --quality fast --preset ultrafast --deinterlace single --crop auto --scale 1080p")
	if !strings.Contains(said, "72 rows off the top and 72 rows off the bottom") {
		t.Errorf("it does not say what it takes off: %s", said)
	}
	v := probe(t, out).video(t)
	if v.Width != 1920 || v.Height != 810 || len(times(t, out)) != 15 || len(probe(t, out).kind("audio")) != 1 {
		t.Errorf("%dx%d, %d frames", v.Width, v.Height, len(times(t, out)))
	}
}

// Parts of an interlaced video give the same frames and times as the whole.
func TestStagesOfFieldsInParts(t *testing.T) {
	e2e.Start(t, false)
	tape := clip(t, "stages-parts.mp4", "-f lavfi -i testsrc2=s=96x64:r=50:d=25 -f lavfi -i anoisesrc=a=0.1:d=25 -vf "+
		"noise=alls=8:allf=t,interlace=lowpass=off,select='mod(n\\,97)-40' -vsync vfr -c:v libx264 -preset fast -g 25 -flags +ildct+ilme")
	var want []byte
	var at []float64
	for _, parts := range []string{"1", "2"} {
		out, said := filter(t, tape, "mkv", "--filter denoise --quality fast --noise 8 --deinterlace --crf 0 --preset fast --threads 4 --verbose --parts "+parts)
		if parts == "1" {
			want, at = raw(t, out, "yuv420p"), times(t, out)
			continue
		}
		if !strings.Contains(said, "encoding 2 parts") || !bytes.Equal(raw(t, out, "yuv420p"), want) {
			t.Errorf("parts differ from the whole: %s", said)
		}
		sameTimes(t, "parts", times(t, out), at, 0.0001)
	}
}

// Options that cannot work are refused before the input is opened.
func TestStagesRefused(t *testing.T) {
	e2e.Start(t, true)
	for args, want := range map[string]string{
		"--before movie=a.mp4":                     "the filter movie is not available here: it opens files",
		"--before amovie=a.mp4":                    "it opens files",
		"--after lut3d=file=a.cube":                "it opens files",
		"--after sendcmd=f=a.txt":                  "it opens files",
		"--after zmq":                              "it listens on the network",
		"--after concat":                           "it takes another video",
		"--after '[a]hflip[b];[c]vflip[d]'":        "more than one input",
		"--after 'hflip, nosuch'":                  "filter 2 of the graph, \"nosuch\" at character 8",
		"--after bwdif=9":                          "out of range",
		"--after " + strings.Repeat("null,", 8000): "40000 bytes",
		"--crop 1920":                              "not W:H:X:Y",
		"--scale big":                              "unknown",
		"--fps fast":                               "not a frame rate",
		"--sharpen 2":                              "must be a number, 0 to 1",
		"--deinterlace=yadif":                      "unknown",
		"--scale 0.5 --compare side":               "exclude each other",
		"--deinterlace bob --compare side":         "makes two of one",
		"--deinterlace --compare side":             "--deinterlace single goes with it",
		"--codec av1 --film-grain keep --fps 25":   "--fps changes them",
		"--chroma-shift 4":                         "not X,Y",
		"--chroma-shift auto --before transpose":   "--before moves its picture",
		"--crop auto --before transpose":           "--before moves its picture",
	} {
		_, said, code := attempt(t, "nowhere.mkv", "mkv", args)
		if code != 2 || !strings.Contains(said, want) || len(said) > 2000 {
			t.Errorf("%.80s: exit code %d: %.2000s", args, code, said)
		}
	}
}

// Tiny pictures, odd sizes, a single frame of two fields, and a video with a progressive header and
// interlaced frames after progressive ones.
func TestStagesOfOddVideos(t *testing.T) {
	e2e.Start(t, false)
	tiny := clip(t, "stages-tiny.nut", odd("8x6", "0.12")+"-pix_fmt yuv420p -c:v rawvideo")
	uneven := clip(t, "stages-uneven.nut", odd("65x49", "0.12")+"-pix_fmt yuv420p -c:v rawvideo")
	single := clip(t, "stages-single.mkv", "-f lavfi -i testsrc2=s=64x48:r=25:d=0.04 -vf setfield=tff -c:v ffv1 -field_order tt")
	var pieces []byte
	for _, fields := range []string{"", "-x264opts tff=1", ""} {
		piece := clip(t, "stages-piece"+fields+".h264", "-f lavfi -i testsrc2=s=64x64:r=25:d=0.2 -c:v libx264 -bf 0 "+fields)
		pieces = append(pieces, e2e.Read(t, piece)...)
	}
	mixed := clip(t, "stages-mixed.mp4", "-r 25 -fflags +genpts -i "+put(t, "stages-pieces.h264", pieces)+" -c copy")
	for _, c := range []struct {
		in, ending, args string
		frames           int
		size             string
	}{
		{tiny, "mkv", "--codec ffv1 --crop auto", 3, "8x6"},
		{uneven, "mkv", "--scale 0.5", 3, "32x24"},
		{uneven, "mkv", "--deband --sharpen 0.3", 3, "65x49"},
		{tiny, "mkv", "--codec ffv1 --deflicker", 3, "8x6"},
		{mixed, "mkv", "--deflicker --scale 0.5 --deinterlace", 20, "32x32"},
		{single, "mp4", "--deflicker", 1, "64x48"},
		{single, "mp4", "--deinterlace bob", 2, "64x48"},
		{single, "mkv", "--deinterlace best --sharpen 0.3 --scale 0.5", 2, "32x24"},
		{mixed, "mkv", "--deinterlace=single", 15, "64x64"},
		{mixed, "mkv", "--deinterlace", 20, "64x64"},
		{mixed, "mp4", "--deinterlace bob --scale 0.5", 20, "32x32"},
		{mixed, "mkv", "--before bwdif", 30, "64x64"},
		{uneven, "mov", "--after setpts=2*PTS", 3, "65x49"},
		{uneven, "mkv", "--codec hevc --scale 48:-2 --before format=yuv420p10", 3, "48x36"}, // crashed x265
	} {
		out, said := filter(t, c.in, c.ending, c.args)
		list := frames(t, out)
		if size := fmt.Sprintf("%dx%d", list[0].Width, list[0].Height); len(list) != c.frames || size != c.size {
			t.Errorf("%s %s: %d frames of %s: %s", filepath.Base(c.in), c.args, len(list), size, said)
		}
		if f := list[0]; f.Interlaced != 0 && strings.Contains(c.args, "--deinterlace") {
			t.Errorf("%s %s: interlaced", filepath.Base(c.in), c.args)
		}
		for i, at := range times(t, out) {
			if i > 0 && at <= times(t, out)[i-1] {
				t.Errorf("%s %s: %v", filepath.Base(c.in), c.args, times(t, out))
			}
		}
	}
	for _, c := range []struct{ ending, args, want string }{
		{"mkv", "--after setpts=-PTS", "--after: graph: a frame at -0.040 s"},
		{"mkv", "--before bwdif=mode=0,crop=100:100", "--before: filter 2 of the graph"},
		{"mkv", "--fps 1", "--fps: graph: no frame comes out of it, of 3"},
		{"png", "--frames 1 --before tpad=stop=1", "no filter that makes more pictures of one"},
		{"mp4", "--after setpts=PTS-0.1/TB", "write .mkv"},
	} {
		if _, said, code := attempt(t, uneven, c.ending, c.args); code != 2 && code != 4 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d: %s", c.args, code, said)
		}
	}
	if _, said := filter(t, uneven, "mkv", "--filter denoise --noise-from 0 --before scale=96:72"); !strings.Contains(said, "--before scales its noise") {
		t.Errorf("noise that is measured before it is scaled: %s", said)
	}
}
