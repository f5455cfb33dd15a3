package media

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// noiseOf returns the sigma of luma noise that the program measures.
func noiseOf(t *testing.T, path string) float64 {
	t.Helper()
	var info struct {
		Noise struct {
			Scenes []struct {
				Luma float64 `json:"sigma_luma"`
			}
		}
	}
	e2e.Must(t, json.Unmarshal(run(t, e2e.Program, "info", "--noise", "--json", path), &info))
	return info.Noise.Scenes[0].Luma
}

// The file of a denoised video is clean and shows the noise of the source, at each scene's own
// strength. AV1 made of AV1 keeps it, and the table matches.
func TestFilmGrain(t *testing.T) {
	e2e.Start(t, true)
	scene := func(source, noise string) string {
		return "-f lavfi -i " + source + "=s=320x192:r=25:d=1.2," + "gblur=2,noise=alls=" + noise + ":allf=t "
	}
	const joined = "-filter_complex concat=n=2 " + yuv + "-c:v ffv1"
	src := clip(t, "grainy.mkv", scene("testsrc2", "16")+scene("smptehdbars", "30")+joined)
	quiet := clip(t, "grainy-quiet.mkv", scene("testsrc2", "16")+yuv+"-c:v ffv1")
	table := output("tbl")
	const av1 = "--filter denoise --codec av1 --preset 10 --crf 20 "
	out, _ := filter(t, src, "mkv", av1+"--film-grain keep --grain-table "+table)
	again, said := filter(t, out, "mp4", av1)
	if strings.Contains(said, "not kept") {
		t.Error(said)
	}
	for _, file := range []string{out, again} {
		if n := noiseOf(t, file); n > 1 { // the program looks at pictures without their grain
			t.Errorf("the picture itself has noise of %.1f", n)
		}
		if got, want := noiseOf(t, played(t, file)), noiseOf(t, quiet); math.Abs(got/want-1) > 0.2 {
			t.Errorf("noise of %.1f is shown, the source has %.1f", got, want)
		}
	}
	text := e2e.Read(t, table)
	if n := strings.Count(string(text), "\nE "); !strings.HasPrefix(string(text), "filmgrn1\nE 0 12000000 ") || n != 2 {
		t.Errorf("%d scenes: %s", n, text)
	}
	if _, said, code := attempt(t, src, "mkv", "--filter denoise --frames 2 --grain-table "+table); code != 4 || !strings.Contains(said, "exists") {
		t.Errorf("the table is replaced: exit code %d: %s", code, said)
	}
}

// Noise is measured through codecs that crush it, and coding noise is not counted.
func TestNoiseThroughCodecs(t *testing.T) {
	e2e.Start(t, true)
	for name, coder := range map[string]string{
		"hevc.mkv":  "-c:v libx265 -preset veryfast -b:v 500k -x265-params bframes=0:vbv-maxrate=500:vbv-bufsize=500:log-level=none:pools=1",
		"vp9.mkv":   "-c:v libvpx-vp9 -b:v 500k -cpu-used 8 -deadline realtime",
		"mjpeg.mkv": "-c:v mjpeg -pix_fmt yuvj420p -q:v 6",
	} {
		for strength, want := range map[string][2]float64{"9": {1.5, 6.5}, "0": {0, 0.8}} {
			source := "-f lavfi -i mandelbrot=s=320x192:r=30:start_scale=0.1:end_scale=0.05:end_pts=60 -t 0.5 " +
				"-vf format=yuv420p,noise=alls=" + strength + ":allf=t "
			if n := noiseOf(t, clip(t, "noise-"+strength+"-"+name, source+coder)); n < want[0] || n > want[1] {
				t.Errorf("%s: noise %s is read as %.1f, want %v", name, strength, n, want)
			}
		}
	}
}

// played decodes a video as players do, with its grain.
func played(t *testing.T, path string) string {
	t.Helper()
	out := output("mkv")
	run(t, "ffmpeg", "-v", "error", "-c:v", "libdav1d", "-i", path, "-fps_mode", "passthrough", "-c:v", "ffv1", "-y", out)
	return out
}
