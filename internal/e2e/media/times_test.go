package media

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// syncOf returns the times of the streams' first packets less the video's first frame, in seconds.
func syncOf(t *testing.T, path string) []float64 {
	t.Helper()
	m := probe(t, path)
	zero := times(t, path)[0]
	var list []float64
	for _, s := range m.kind("audio") {
		p := m.of(s)
		if len(p) == 0 {
			t.Fatalf("%s: stream %d is empty", path, s.Index)
		}
		list = append(list, p[0].seconds(t, s)-zero)
	}
	return list
}

const uneven = `testsrc2=s=96x64:r=100:d=1,select=eq(n\,0)+eq(n\,7)+eq(n\,9)+eq(n\,31)+eq(n\,32)+eq(n\,90)+eq(n\,99)`

// Sound and picture stay together to the sample in every container, and keep their times.
func TestSync(t *testing.T) {
	const late = "-f lavfi -i sine=f=440:r=44100:d=1 "
	clips := []struct{ name, args string }{
		{"plain.mp4", both + bframes + yuv + "-c:a aac"},
		{"late-video.mp4", "-itsoffset 0.3 " + both + bframes + yuv + "-c:a aac"},
		{"late-audio.mp4", pictures + "-itsoffset 0.1234 " + late + bframes + yuv + "-c:a aac"},
		{"late-both.mkv", "-itsoffset 2.5 " + pictures + "-itsoffset 2.7 " + late + bframes + yuv + "-c:a flac"},
		{"plain.mkv", pictures + late + bframes + yuv + "-c:a libopus -ar 48000"},
		{"plain.ts", both + bframes + yuv + "-c:a aac"},
		{"late.ts", both + bframes + yuv + "-c:a mp2 -muxdelay 0 -output_ts_offset 300"},
		{"far.ts", both + bframes + yuv + "-c:a mp2 -mpegts_copyts 1 -muxdelay 0 -output_ts_offset 50000"},
		{"wrap.ts", "-f lavfi -i testsrc2=s=96x64:r=25:d=3 -f lavfi -i sine=r=48000:d=3 " + bframes + yuv +
			"-c:a mp2 -muxdelay 0 -mpegts_copyts 1 -output_ts_offset 95442.2"},
		{"vfr.mp4", "-f lavfi -i " + uneven + " " + late +
			"-vsync vfr " + bframes + yuv + "-c:a aac"},
		{"vfr.mkv", "-f lavfi -i " + uneven + " " + late +
			"-vsync vfr " + bframes + yuv + "-c:a libvorbis"},
		{"ntsc.mp4", "-f lavfi -i testsrc2=s=96x64:r=30000/1001:d=1 " + late + bframes + yuv + "-c:a aac"},
		{"ntsc.mov", "-f lavfi -i testsrc2=s=96x64:r=24000/1001:d=1 " + late + bframes + yuv + "-c:a pcm_s16le"},
		{"whole.mp4", "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i sine=r=44100:d=2 " + bframes + yuv + "-c:a aac"},
	}
	for i, c := range clips {
		for j, to := range containers() {
			if same := strings.HasSuffix(c.name, to); !same && (i+j)%2 == 0 {
				continue // each clip into its own kind and into two others or so, to save time
			}
			t.Run(c.name+"-to-"+to, func(t *testing.T) {
				e2e.Start(t, false)
				src := clip(t, "sync-"+c.name, c.args)
				sameSync(t, src, to, "")
			})
		}
	}
	// Cut without a key frame at the cut: the file has an edit list, and pictures that are not
	// shown.
	for _, to := range containers() {
		t.Run("edit-list-to-"+to, func(t *testing.T) {
			e2e.Start(t, to == "mp4")
			clip(t, "sync-whole.mp4", clips[len(clips)-1].args)
			src := clip(t, "sync-edited.mp4", "-ss 0.72 -i @sync-whole.mp4 -c copy")
			sameSync(t, src, to, "")
		})
	}
}

// sameSync filters src and compares times.
func sameSync(t *testing.T, src, to, args string) {
	t.Helper()
	out, _ := filter(t, src, to, args)
	sameVideoTimes(t, src, out, to)
	tolerance := 0.5 / 44100 // half a sample: MP4 counts sound in samples
	switch to {
	case "mkv":
		tolerance = 0.001 + 1e-6 // milliseconds, rounded for each of the two streams
	case "ts":
		tolerance = 1./90000 + 1e-6 // likewise
	}
	a, b := probe(t, src), probe(t, out)
	if x, y := a.kind("audio"), b.kind("audio"); len(x) > 0 && len(y) > 0 && x[0].Codec != y[0].Codec {
		return // converted: see TestAudioConversion
	}
	sameTimes(t, "audio less video", syncOf(t, out), syncOf(t, src), tolerance)
	for i, s := range a.kind("audio") {
		if i >= len(b.kind("audio")) {
			t.Fatalf("audio %d is missing", i)
		}
		was, is := a.of(s), b.of(b.kind("audio")[i])
		if len(was) != len(is) {
			t.Errorf("audio %d: %d packets instead of %d", i, len(is), len(was))
		}
	}
}

// A transport stream whose clock starts anew in the middle is one film all the same, and whole.
func TestClockJumps(t *testing.T) {
	// start of the second half; the first starts at 900
	for _, offset := range []float64{3, 881, 892, 896, 899, 900.5, 1000, 7000} {
		t.Run(fmt.Sprintf("by %g s", offset-901), func(t *testing.T) {
			e2e.Start(t, offset == 3 || offset == 900.5)
			const args = "-f lavfi -i testsrc2=s=96x64:r=25:d=1 -f lavfi -i sine=r=48000:d=1 " + bframes + yuv + "-c:a mp2 -muxdelay 0 "
			a, err := os.ReadFile(clip(t, "jump-a.ts", args+"-output_ts_offset 900"))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(clip(t, fmt.Sprintf("jump-%g.ts", offset), fmt.Sprint(args, "-output_ts_offset ", offset)))
			if err != nil {
				t.Fatal(err)
			}
			src := put(t, fmt.Sprintf("jumps-%g.ts", offset), append(a, b...))
			out, said := filter(t, src, "mp4", "")
			list := times(t, out)
			if len(list) != 50 {
				t.Fatalf("%d frames instead of 50: %s", len(list), said)
			}
			for i := range list[1:] {
				if d := list[i+1] - list[i]; d < 0.039 || d > 0.1 || d > 0.041 && i != 24 {
					t.Errorf("frame %d follows after %.3f s: %s", i+1, d, said)
				}
			}
			// Sound and picture jumped together: their distance is unchanged.
			before, after := soundBeside(t, clip(t, "jump-a.ts", "")), soundBeside(t, out)
			if math.Abs(before-after) > 0.002 {
				t.Errorf("the sound ends %.3f s beside the picture instead of %.3f: %s", after, before, said)
			}
		})
	}
}

// soundBeside returns by how much the last packet of sound comes after the last picture.
func soundBeside(t *testing.T, file string) float64 {
	t.Helper()
	m := probe(t, file)
	audio := m.kind("audio")[0]
	packets, pictures := m.of(audio), times(t, file)
	return packets[len(packets)-1].seconds(t, audio) - pictures[len(pictures)-1]
}

// A start between two key frames, in containers without an index, is found exactly.
func TestStartBetweenKeys(t *testing.T) {
	const args = "-f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v mpeg2video -bf 2 -g 12 "
	e2e.Start(t, true)
	for _, ending := range []string{"mpg", "ts"} {
		src := clip(t, "between."+ending, args)
		for start, want := range map[string]int{"0.2": 95, "1.0": 75, "2.04": 49, "3.96": 1} {
			out, said := filter(t, src, "mkv", "--start "+start)
			if n := len(times(t, out)); n != want {
				t.Errorf("%s from %s: %d frames instead of %d: %s", ending, start, n, want, said)
			}
		}
	}
}

// --start, --duration and --frames keep the frames that ffmpeg keeps, and their sound.
func TestParts(t *testing.T) {
	const args = "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i sine=r=48000:d=2 " + bframes + yuv
	for _, c := range []struct {
		ending, args     string
		frames           int
		first, audioSpan float64 // seconds; of the frame in the source
	}{
		{"mp4", "--start 0.5 --duration 0.8", 20, 0.52, 0.8},
		{"mkv", "--start 0.5 --duration 0.8", 20, 0.52, 0.8},
		{"ts", "--start 0.5 --duration 0.8", 20, 0.52, 0.8},
		{"mp4", "--frames 10", 10, 0, 0.4},
		{"mp4", "--start 1.5", 12, 1.52, 0.5},
		{"mp4", "--duration 0.2", 5, 0, 0.2},
	} {
		t.Run(c.ending+" "+c.args, func(t *testing.T) {
			e2e.Start(t, false)
			audio := map[string]string{"mp4": "-c:a aac", "mkv": "-c:a flac", "ts": "-c:a mp2"}[c.ending]
			src := clip(t, "parts."+c.ending, args+audio)
			out, said := filter(t, src, c.ending, c.args)
			list := times(t, out)
			if n := len(list); n != c.frames && !(c.first > 0 && n == c.frames+1) {
				t.Errorf("%d frames instead of %d: %s", n, c.frames, said)
			}
			m := probe(t, out)
			s := m.kind("audio")[0]
			p := m.of(s)
			span := p[len(p)-1].seconds(t, s) - p[0].seconds(t, s)
			// two FLAC packets: those at the edges are whole or absent
			if math.Abs(span-c.audioSpan) > 2.01*4608/48000 {
				t.Errorf("%.3f s of sound instead of %.3f", span, c.audioSpan)
			}
			// ffmpeg's own cut of the same part has the same pictures.
			ours, all := raw(t, out, "yuv420p"), raw(t, src, "yuv420p")
			const size = 96 * 64 * 3 / 2
			best, at := math.MaxInt, 0
			for i := 0; i+size <= len(all); i += size {
				if n := differing(ours[:size], all[i:i+size], 24); n < best {
					best, at = n, i/size
				}
			}
			if want := int(math.Round(c.first * 25)); at != want && at != want-1 {
				t.Errorf("it begins with frame %d instead of %d", at, want)
			}
		})
	}
}
