package media

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// The picture of most clips: it moves, has edges and colours, and is cheap to make.
const (
	pictures = "-f lavfi -i testsrc2=s=96x64:r=25:d=0.8 "
	tone     = "-f lavfi -i sine=f=440:r=48000:d=0.8 "
	both     = pictures + tone
	h264     = "-c:v libx264 -preset ultrafast -x264-params log-level=none:threads=1 "
	bframes  = "-c:v libx264 -preset veryfast -x264-params log-level=none:threads=1:bframes=3:keyint=12 "
	yuv      = "-pix_fmt yuv420p "
)

// inputs are the containers and codecs of the specification, of 20 frames unless noted.
var inputs = []struct {
	name, ending, args string
	frames             int
}{
	{"h264", "mp4", both + bframes + yuv + "-c:a aac", 20},
	{"h264-open", "mp4", both + "-c:v libx264 -preset veryfast -x264-params log-level=none:open-gop=1:keyint=8:bframes=3:b-pyramid=normal -pix_fmt yuv420p -c:a aac", 20},
	{"h264-422", "mov", both + bframes + "-pix_fmt yuv422p -c:a pcm_s16le", 20},
	{"h264-444", "mkv", both + bframes + "-pix_fmt yuv444p -c:a flac", 20},
	{"h264", "ts", both + bframes + yuv + "-c:a mp2", 20},
	{"h264", "m2ts", both + bframes + yuv + "-c:a ac3", 20},
	{"h264", "flv", both + bframes + yuv + "-c:a aac", 20},
	{"h264", "h264", pictures + bframes + yuv, 20},
	{"h264", "nut", both + bframes + yuv + "-c:a libmp3lame", 20},
	{"h264", "avi", both + h264 + yuv + "-c:a libmp3lame", 20},
	{"hevc", "mp4", both + yuv + "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:bframes=3 -tag:v hvc1 -c:a aac", 20},
	{"hevc", "mkv", both + yuv + "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:bframes=3 -c:a libopus", 20},
	{"hevc", "hevc", pictures + yuv + "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1", 20},
	{"av1", "mp4", both + yuv + "-c:v libaom-av1 -cpu-used 8 -threads 1 -row-mt 0 -lag-in-frames 10 -c:a aac", 20},
	{"av1", "mkv", both + yuv + "-c:v libaom-av1 -cpu-used 8 -threads 1 -lag-in-frames 10 -c:a libopus", 20},
	{"vp8", "webm", both + yuv + "-c:v libvpx -deadline realtime -cpu-used 8 -auto-alt-ref 1 -lag-in-frames 12 -c:a libvorbis", 20},
	{"vp9", "webm", both + yuv + "-c:v libvpx-vp9 -deadline good -cpu-used 8 -auto-alt-ref 1 -lag-in-frames 12 -c:a libopus", 20},
	{"vp9-444", "mkv", pictures + "-pix_fmt yuv444p -c:v libvpx-vp9 -deadline good -cpu-used 8", 20},
	{"mpeg1", "mpg", both + yuv + "-c:v mpeg1video -bf 2 -q:v 3 -c:a mp2", 20},
	{"mpeg2", "mpg", both + yuv + "-c:v mpeg2video -bf 2 -q:v 3 -c:a mp2 -f vob", 20},
	{"mpeg2", "ts", both + yuv + "-c:v mpeg2video -bf 2 -q:v 3 -c:a mp2", 20},
	{"mpeg2-422", "mkv", both + "-pix_fmt yuv422p -c:v mpeg2video -bf 2 -q:v 3 -c:a pcm_s16le", 20},
	{"mpeg4", "mp4", both + yuv + "-c:v mpeg4 -bf 2 -q:v 3 -c:a aac", 20},
	{"mpeg4", "avi", both + yuv + "-c:v mpeg4 -bf 2 -q:v 3 -c:a libmp3lame", 20},
	{"msmpeg4", "avi", both + yuv + "-c:v msmpeg4 -q:v 3 -c:a libmp3lame", 20},
	{"prores", "mov", both + "-c:v prores_ks -profile:v 2 -pix_fmt yuv422p10le -c:a pcm_s24le", 20},
	{"dnxhd", "mov", "-f lavfi -i testsrc2=s=1280x720:r=50:d=0.08 -c:v dnxhd -b:v 90M -pix_fmt yuv422p", 4},
	{"dnxhr", "mxf", "-f lavfi -i testsrc2=s=256x128:r=25:d=0.2 -c:v dnxhd -profile:v dnxhr_sq -pix_fmt yuv422p", 5},
	{"mjpeg", "mov", both + "-c:v mjpeg -q:v 2 -pix_fmt yuvj420p -c:a pcm_s16le", 20},
	{"mjpeg", "avi", both + "-c:v mjpeg -q:v 2 -pix_fmt yuvj422p -c:a pcm_s16le", 20},
	{"ffv1", "mkv", both + "-c:v ffv1 -level 3 -g 1 -pix_fmt yuv420p -c:a flac", 20},
	{"ffv1-422", "avi", both + "-c:v ffv1 -pix_fmt yuv422p -c:a pcm_s16le", 20},
	{"raw", "avi", both + "-c:v rawvideo -pix_fmt yuv420p -c:a pcm_s16le", 20},
	{"raw", "nut", both + "-c:v rawvideo -pix_fmt nv12 -c:a pcm_s16le", 20},
	{"raw", "mkv", both + "-c:v rawvideo -pix_fmt yuv422p -c:a pcm_s16le", 20},
	{"raw", "y4m", pictures + "-pix_fmt yuv420p", 20},
	{"raw-444", "y4m", pictures + "-pix_fmt yuv444p -strict -1", 20},
	{"huffyuv", "avi", pictures + "-c:v huffyuv -pix_fmt yuv422p", 20},
	{"theora", "ogg", both + yuv + "-c:v libtheora -q:v 8 -c:a libvorbis", 20},
	{"gif", "gif", pictures, 20},
	{"wmv2", "wmv", both + yuv + "-c:v wmv2 -q:v 3 -c:a wmav2", 20},
	{"h263", "3gp", "-f lavfi -i testsrc2=s=176x144:r=25:d=0.8 -c:v h263 -q:v 3", 20},
	{"dv", "dv", "-f lavfi -i testsrc2=s=720x576:r=25:d=0.2 -c:v dvvideo -pix_fmt yuv420p", 5},
}

func containers() []string { return []string{"mp4", "mov", "mkv", "ts"} }

// No frame is lost or doubled, and each keeps its time.
func TestFramesAndTimes(t *testing.T) {
	for i, in := range inputs {
		to := containers()[i%4] // every codec into one container, every container from many codecs
		t.Run(in.name+"."+in.ending+"-to-"+to, func(t *testing.T) {
			e2e.Start(t, i%8 == 0)
			src := clip(t, in.name+"."+in.ending, in.args)
			out, said := filter(t, src, to, "")
			if n := len(frames(t, out)); n != in.frames {
				t.Fatalf("%d frames instead of %d: %s", n, in.frames, said)
			}
			if in.ending == "h264" || in.ending == "hevc" {
				return // the parser invents the times of a bare stream
			}
			sameVideoTimes(t, src, out, to)
		})
	}
}

// sameVideoTimes compares frame by frame. Matroska rounds times to milliseconds and MPEG-TS to
// 1/90000 s, by up to one unit each on the way in and out. Others keep the input's unit.
func sameVideoTimes(t *testing.T, in, out, ending string) {
	t.Helper()
	want, got := times(t, in), times(t, out)
	tolerance := 0.0
	keeps := ending == "ts" && strings.HasSuffix(in, ".ts")
	if !keeps && (want[0] < 0 || want[0] > 10) { // a clock starts at 0
		shift := want[0] - got[0]
		for i := range want {
			want[i] -= shift
		}
		if ending != "ts" && (got[0] < 0 || got[0] > 0.1) {
			t.Errorf("the video starts at %.3f s", got[0])
		}
	}
	switch ending {
	case "mkv":
		tolerance = 0.0005
	case "ts":
		tolerance = 0.5 / 90000
		// MPEG-TS starts at a clock of its own if the input starts too early for it.
		if shift := got[0] - want[0]; want[0] < 1.4 && shift > 0 {
			for i := range want {
				want[i] += shift
			}
			tolerance *= 2 // the shift was also rounded
		}
	}
	sameTimes(t, "video", got, want, tolerance)
}

// Media on a pipe is a whole file, both ways.
func TestPipes(t *testing.T) {
	for _, c := range []struct{ clip, ending, format string }{
		{"h264", "mp4", "mp4"}, {"h264", "mp4", "mkv"}, {"h264", "mp4", "ts"}, {"h264", "mp4", "mov"},
		{"h264", "ts", "mp4"}, {"ffv1", "mkv", "mkv"}, {"raw", "y4m", "mp4"}, {"vp9", "webm", "mkv"},
	} {
		t.Run(c.clip+"."+c.ending+"-to-"+c.format, func(t *testing.T) {
			e2e.Start(t, false)
			src := ""
			for _, in := range inputs {
				if in.name == c.clip && in.ending == c.ending {
					src = clip(t, in.name+"."+in.ending, in.args)
				}
			}
			data := e2e.Read(t, src)
			media, said := pipe(t, bytes.NewReader(data), "-i - -o - --format "+c.format)
			out := output(c.format)
			e2e.Must(t, os.WriteFile(out, media, 0o644))
			if n := len(frames(t, out)); n != 20 {
				t.Errorf("%d frames instead of 20: %s", n, said)
			}
			sameVideoTimes(t, src, out, c.format)
			if got, want := len(probe(t, out).kind("audio")), len(probe(t, src).kind("audio")); got != want {
				t.Errorf("%d audio streams instead of %d: %s", got, want, said)
			}
		})
	}
}

// mild keeps all colours well within the RGB cube, where filters may not clip them.
const mild = "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2,format=rgb24,lutrgb=r=val/2+64:g=val/2+64:b=val/2+64 "

// differing counts the samples that differ by more than tolerance levels.
func differing(a, b []byte, tolerance int) int {
	n := 0
	for i := range a {
		if d := int(a[i]) - int(b[i]); d > tolerance || d < -tolerance {
			n++
		}
	}
	return n
}
