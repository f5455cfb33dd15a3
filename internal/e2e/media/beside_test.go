package media

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
)

// Clips long enough for parts: 26 s with a key frame every 5.
const (
	longVideo = "-f lavfi -i testsrc2=s=96x64:r=10:d=26,noise=alls=20:allf=t "
	longClip  = longVideo + "-f lavfi -i sine=r=48000:d=26 "
	longKeys  = "-c:v libx264 -preset veryfast -bf 3 -g 50 -sc_threshold 0 -pix_fmt yuv420p "
)

// A video that is coded in parts side by side equals one coded as one stream, with all other
// streams, and does not depend on the number of parts at a time. Lossless encoding makes every
// picture comparable.
func TestSideBySide(t *testing.T) {
	for _, c := range []struct {
		name, args, to, with string
		quick                bool
	}{
		{"closed.mp4", longClip + longKeys + "-c:a aac", "mp4", lossless + " --device cpu --filter denoise", true},
		{"closed.mp4", longClip + longKeys + "-c:a aac", "ts", lossless, false},
		{"open.mkv", longClip + longKeys + "-x264-params open-gop=1 -c:a libopus", "mkv", lossy, false},
		{"deep.mkv", longVideo + "-c:v libx265 -preset ultrafast -pix_fmt yuv420p10le -x265-params keyint=50:bframes=3:open-gop=1:log-level=none:" +
			"master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400", "mp4",
			"--codec hevc --preset ultrafast --encoder-params lossless=1", false},
		{"closed.mp4", longClip + longKeys + "-c:a aac", "webm", quickAV1 + " --gop 20", false},
	} {
		t.Run(c.name+"-to-"+c.to, func(t *testing.T) {
			e2e.Start(t, c.quick)
			src := clip(t, "beside-"+c.name, c.args)
			whole, _ := filter(t, src, c.to, "--parts 1 "+c.with)
			two, said := filter(t, src, c.to, "--parts 2 -v "+c.with)
			three, _ := filter(t, src, c.to, "--parts 3 "+c.with)
			if !strings.Contains(said, "encoding 3 parts, 2 side by side") {
				t.Errorf("no parts: %s", said)
			}
			if !bytes.Equal(raw(t, two, "yuv420p10le"), raw(t, three, "yuv420p10le")) {
				t.Error("the number of parts at a time changes the pictures")
			}
			sameVideoTimes(t, src, two, c.to)
			sameBesidePictures(t, two, whole)
			if strings.Contains(c.with, "lossless") || strings.HasPrefix(c.with, lossless) {
				if !bytes.Equal(raw(t, two, "yuv420p10le"), raw(t, whole, "yuv420p10le")) {
					t.Error("the pictures are not those of one stream")
				}
			}
		})
	}
}

// Damage that shows in a part has the video coded again as one stream, with the same end.
func TestSideBySideDamaged(t *testing.T) {
	e2e.Start(t, false)
	data := bytes.Clone(e2e.Read(t, clip(t, "beside-closed.mp4", longClip+longKeys+"-c:a aac")))
	for i := range 20_000 {
		data[len(data)*3/4+i] ^= byte(i * i >> 3)
	}
	src := put(t, "beside-damaged.mp4", data)
	for _, codec := range []string{"--codec h264", "--codec ffv1"} {
		whole, _, code := attempt(t, src, "mov", "--parts 1 "+codec)
		again, said, other := attempt(t, src, "mov", "--parts 2 "+codec)
		if code != 6 || other != code || !strings.Contains(said, "encoding it again as one stream") {
			t.Errorf("%s: exit codes %d and %d: %s", codec, code, other, said)
		}
		if !bytes.Equal(e2e.Read(t, whole), e2e.Read(t, again)) {
			t.Errorf("%s: the file is another one", codec)
		}
	}
}

// With one encoder for all frames, the file equals a one-stream job's bit for bit, with all other
// streams, for any number of decoders and any room for frames that wait.
func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		name, args, to, with string
		quick                bool
	}{
		{"closed.mp4", longClip + longKeys + "-c:a aac", "mov", "--codec ffv1 --device cpu --filter denoise --quality fast", true},
		{"closed.mp4", longClip + longKeys + "-c:a aac", "mp4", "--bitrate 200k --preset veryfast -r 1", false},
		{"closed.mp4", longClip + longKeys + "-c:a aac", "ts", "--x264-params vbv-maxrate=500:vbv-bufsize=500 --preset veryfast -r 1", false},
		{"open.mkv", longClip + longKeys + "-x264-params open-gop=1 -c:a libopus", "mov", "--codec prores -r 0", false},
	} {
		t.Run(c.name+"-to-"+c.to, func(t *testing.T) {
			e2e.Start(t, c.quick)
			src := clip(t, "beside-"+c.name, c.args)
			whole, _ := filter(t, src, c.to, "--parts 1 "+c.with)
			for _, parts := range []string{"2", "5", "5 --frames-in-flight 1"} {
				got, said := filter(t, src, c.to, "-v --parts "+parts+" "+c.with)
				if !strings.Contains(said, "filtering 5 parts, ") {
					t.Errorf("no parts: %s", said)
				}
				if !bytes.Equal(e2e.Read(t, got), e2e.Read(t, whole)) {
					t.Errorf("--parts %s: the file is another one", parts)
				}
			}
		})
	}
}

// A gap between two parts is found as in one stream.
func TestGapBesideParts(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "beside-gap.mkv", longVideo+strings.ReplaceAll(longKeys, "-bf 3", "-bf 0")+"-bsf:v noise=drop='between(n\\,120\\,149)'")
	for _, codec := range []string{"--codec h264", "--codec ffv1"} {
		for _, parts := range []string{"--parts 1", "--parts 2"} {
			if _, said, code := attempt(t, src, "mov", codec+" -v "+parts); code != 6 || !strings.Contains(said, "gaps in time: 1") || strings.Contains(said, "again") {
				t.Errorf("%s %s: exit code %d: %s", codec, parts, code, said)
			}
		}
	}
}

// A job that must be one stream runs as one, and gives the reason if parts were requested.
func TestNotSideBySide(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "beside-closed.mp4", longClip+longKeys+"-c:a aac")
	short := clip(t, "join-closed.mp4", joined+keys+"-c:a aac")
	for _, c := range []struct{ src, with, why string }{
		{src, "--duration 20", "a piece of the input"},
		{src, "--compare side", "--compare"},
		{short, "", "no two parts"},
	} {
		if _, said := filter(t, c.src, "mkv", "--parts 2 -v "+c.with); !strings.Contains(said, "as one stream: ") || !strings.Contains(said, c.why) {
			t.Errorf("%s: %s", c.with, said)
		}
	}
}

// Stopped, a job in parts keeps the pictures up to there, as any job does.
func TestSideBySideStopped(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "beside-slow.mp4", strings.ReplaceAll(longClip, "96x64", "480x272")+longKeys+"-c:a aac")
	for _, codec := range []string{"h264", "ffv1"} {
		t.Run(codec, func(t *testing.T) { stopBeside(t, src, codec) })
	}
}

func stopBeside(t *testing.T, src, codec string) {
	out := output("mov")
	p := e2e.Begin(t, exec.Command(e2e.Program, "-i", src, "-o", out, "--parts", "2", "-r", "9", "--device", "cpu", "--codec", codec, "--progress", "json"))
	p.Until("pictures", func() bool { return strings.Contains(p.Out.String()+p.Err.String(), `"frame":1`) })
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 130 {
		t.Fatalf("exit code %d: %s", code, p.Said())
	}
	all, want := frames(t, out), frames(t, src)
	if len(all) == 0 || len(all) >= len(want) {
		t.Fatalf("%d of %d frames are kept", len(all), len(want))
	}
	for i, f := range all {
		if f.Time != want[i].Time {
			t.Fatalf("frame %d at %s instead of %s", i, f.Time, want[i].Time)
		}
	}
}
