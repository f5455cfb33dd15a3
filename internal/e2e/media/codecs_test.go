package media

import (
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// Each codec in each of its containers: every frame, close to the source, described as it is, and
// with the tag that players look for.
func TestCodecs(t *testing.T) {
	const (
		hevc = "--codec hevc --preset ultrafast --crf 16"
		av1  = "--codec av1 --preset 12 --crf 20"
	)
	for _, c := range []struct {
		with, to, codec, tag, pixels string
		least                        float64 // PSNR in dB
		quick                        bool
	}{
		{hevc, "mp4", "hevc", "hvc1", "yuv420p", 38, true},
		{hevc, "mov", "hevc", "hvc1", "yuv420p", 38, false},
		{hevc, "mkv", "hevc", "", "yuv420p", 38, false},
		{hevc, "ts", "hevc", "", "yuv420p", 38, false},
		{"--encoder libx265 --preset ultrafast --bitrate 4M --gop 5 --tune grain", "mp4", "hevc", "hvc1", "yuv420p", 35, false},
		{"--codec hevc --preset ultrafast --encoder-params lossless=1 --pixel-format yuv420p10le", "mkv", "hevc", "", "yuv420p10le", 60, false},
		{av1, "mp4", "av1", "av01", "yuv420p", 36, true},
		{av1, "mkv", "av1", "", "yuv420p", 36, false},
		{av1, "webm", "av1", "", "yuv420p", 36, false},
		{"--codec av1 --preset 12 --bitrate 2M --gop 10 --tune psnr --encoder-params enable-qm=1 --pixel-format yuv420p10le", "mkv", "av1", "", "yuv420p10le", 33, false},
		{"--codec ffv1", "mkv", "ffv1", "FFV1", "yuv420p", 100, true},
		{"--codec ffv1 --gop 1 --encoder-params level=3:slices=4:slicecrc=1", "mov", "ffv1", "FFV1", "yuv420p", 100, false},
		{"--codec prores", "mov", "prores", "apch", "yuv422p10le", 40, true},
		{"--codec prores --preset 4444", "mkv", "prores", "", "yuv444p12le", 40, false},
		{"--codec prores --preset lt", "mxf", "prores", "", "yuv422p10le", 35, false},
		{"--codec dnxhd", "mov", "dnxhd", "AVdh", "yuv422p", 36, true},
		{"--codec dnxhd --preset hqx", "mkv", "dnxhd", "", "yuv422p10le", 36, false},
		{"--codec dnxhd --preset sq", "mxf", "dnxhd", "", "yuv422p", 34, false},
		{"--codec h264 --crf 10 --preset ultrafast --encoder-params ref=2:bframes=0", "mp4", "h264", "avc1", "yuv420p", 38, false},
	} {
		t.Run(strings.ReplaceAll(c.with, " ", "")+"-"+c.to, func(t *testing.T) {
			e2e.Start(t, c.quick)
			src := clip(t, "codecs.mkv", "-f lavfi -i testsrc2=s=256x144:r=25:d=0.8 -f lavfi -i sine=r=48000:d=0.8 -c:v ffv1 -pix_fmt yuv420p "+
				"-colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv -c:a pcm_s16le")
			out, said := filter(t, src, c.to, c.with)
			if strings.Contains(said, "Svt[") || strings.Contains(said, "x265 [") {
				t.Errorf("an encoder writes to the terminal: %s", said)
			}
			v := probe(t, out).video(t)
			if v.Codec != c.codec || v.PixFmt != c.pixels || c.tag != "" && v.CodecTag != c.tag {
				t.Errorf("it is %s %s, tagged %s", v.Codec, v.PixFmt, v.CodecTag)
			}
			in := probe(t, src).video(t)
			if c.codec != "ffv1" && c.codec != "dnxhd" && (v.Matrix != in.Matrix || v.Primaries != in.Primaries || v.Transfer != in.Transfer) || in.Matrix != "bt709" {
				t.Errorf("colour is %s %s %s, that of the source %s %s %s", v.Matrix, v.Primaries, v.Transfer, in.Matrix, in.Primaries, in.Transfer)
			}
			if n := len(frames(t, out)); n != 20 {
				t.Errorf("%d frames instead of 20", n)
			}
			got, want := raw(t, out, "yuv420p"), raw(t, src, "yuv420p")
			if len(got) != len(want) {
				t.Fatalf("%d bytes of samples for %d", len(got), len(want))
			}
			if x := psnr(got, want); x < c.least {
				t.Errorf("%.1f dB", x)
			}
		})
	}
}

// Options that the codec or container lacks are refused before the input is read.
func TestCodecsRefuse(t *testing.T) {
	e2e.Start(t, true)
	for _, c := range []struct{ to, with, says string }{
		{"webm", "--codec h264 --preset medium", "webm cannot hold the video of the encoder libx264"},
		{"ts", "--codec av1", "write .mp4 or .mkv or .webm"},
		{"mp4", "--codec prores", "write .mov or .mkv or .mxf"},
		{"mp4", "--codec dnxhd", "write .mov or .mkv or .mxf"},
		{"mxf", "--codec hevc", "mxf cannot hold"},
		{"mp4", "--codec vp9", "choose from h264, hevc, av1, ffv1, prores, dnxhd"},
		{"mp4", "--codec av1 --encoder libx264", "exclude each other"},
		{"mp4", "--codec av1 --preset medium", "choose from 0, 1, 2"},
		{"mp4", "--codec av1 --crf 64", "1 to 63"},
		{"mp4", "--codec av1 --crf 0", "must be 1 to 63"},
		{"mp4", "--codec av1 --crf 20.5", "whole number"},
		{"mp4", "--codec av1 --tune grain", "choose from vq, psnr, ssim"},
		{"mp4", "--codec hevc --crf 52", "must be 0 to 51"},
		{"mp4", "--codec hevc --tune film", "choose from psnr, ssim"},
		{"mp4", "--codec hevc --encoder-params csv=x.csv", "no parameter"},
		{"mp4", "--codec hevc --encoder-params bframe=2", "did you mean"},
		{"mp4", "--codec hevc --encoder-params bframes=many", "does not take"},
		{"mp4", "--codec av1 --encoder-params tile-rows=x", "tile-rows"},
		{"mp4", "--codec hevc --x264-params ref=2", "no option --x264-params"},
		{"mp4", "--codec h264 --encoder-params stats=x", "writes a file"},
		{"mkv", "--codec ffv1 --crf 18", "no option --crf"},
		{"mkv", "--codec ffv1 --bitrate 5M", "it is lossless"},
		{"mkv", "--codec ffv1 --encoder-params level=2", "choose from 0, 1, 3"},
		{"mov", "--codec prores --bitrate 5M", "no option --bitrate"},
		{"mov", "--codec prores --gop 5", "every picture is a key frame"},
		{"mov", "--codec prores --preset best", "choose from proxy, lt"},
		{"mov", "--codec prores --preset hq --pixel-format yuv444p10le", "does not take"},
		{"mov", "--codec dnxhd --tune film", "no option --tune"},
	} {
		out, said, code := attempt(t, "missing.mp4", c.to, c.with)
		if code != 2 || !strings.Contains(said, c.says) {
			t.Errorf("%s to %s: exit code %d: %s", c.with, c.to, code, said)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*"+filepath.Base(out)+"*")); len(left) > 0 {
			t.Errorf("%s: %v is left", c.with, left)
		}
	}
	small := clip(t, "small.nut", "-f lavfi -i testsrc2=s=50x38:r=25:d=0.2 -c:v ffv1 -pix_fmt yuv420p")
	for _, c := range []struct{ to, advice string }{{"mkv", "--codec h264 or hevc or av1 or ffv1 or prores takes it"}, {"mxf", "--codec prores takes it"}} {
		if _, said, code := attempt(t, small, c.to, "--codec dnxhd"); code != 4 || !strings.Contains(said, "pictures are at least 256x120") || !strings.Contains(said, c.advice) {
			t.Errorf("50x38 as DNxHR in %s: exit code %d: %s", c.to, code, said)
		}
	}
}

// Files with key frames alone, or of a codec whose parts cannot be joined, are filtered whole.
func TestCodecsWithoutParts(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "join-closed.mp4", joined+keys+"-c:a aac")
	p := segments(t, src, "--length", "1").ranges()[0]
	if _, said, code := attempt(t, src, "mp4", "--codec prores --part="+p); code != 2 || !strings.Contains(said, "prores_ks has no parts that can be joined") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// x265 and SVT-AV1 give the same file in each run, SVT-AV1 with any number of threads.
func TestCodecsKeepBits(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "join-closed.mp4", joined+keys+"-c:a aac")
	for _, with := range []string{"--codec hevc --preset medium", "--codec av1 --preset 10"} {
		a, _ := filter(t, src, "mkv", with)
		again := " --threads 1"
		if strings.Contains(with, "av1") {
			again = " --threads 3"
		}
		b, _ := filter(t, src, "mkv", with+again)
		x, y := probe(t, a), probe(t, b)
		p, q := x.of(x.video(t)), y.of(y.video(t))
		if len(p) != 90 || len(p) != len(q) {
			t.Fatalf("%s: %d and %d packets", with, len(p), len(q))
		}
		for i := range p {
			if p[i].Hash != q[i].Hash {
				t.Fatalf("%s: packet %d is another one", with, i)
			}
		}
	}
}
