package media

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
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

// shownSound returns the times of packets of sound that are heard, less the first of video.
func shownSound(t *testing.T, path string) (list []float64) {
	t.Helper()
	m := probe(t, path)
	zero, s := times(t, path)[0], m.kind("audio")[0]
	for _, p := range m.of(s) {
		if at := p.seconds(t, s) - zero; !strings.Contains(p.Flags, "D") && at+float64(p.Duration)*ratio(s.TimeBase) > 0.002 {
			list = append(list, at)
		}
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
		{"clock.ts", both + bframes + yuv + "-c:a aac -muxdelay 0 -output_ts_offset 61"},
		{"clock.flv", both + bframes + yuv + "-c:a aac -output_ts_offset 99999"},
		{"clock.mkv", both + bframes + yuv + "-c:a aac -output_ts_offset 99999"},
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
			out, _ := filter(t, src, to, "")
			sameVideoTimes(t, src, out, to)
			heard := shownSound(t, out)
			sameTimes(t, "sound", heard, shownSound(t, src), 0.001+1e-6)
			m := probe(t, out)
			if hidden := len(m.of(m.kind("audio")[0])) - len(heard); hidden > 1 { // a decoder needs one
				t.Errorf("%d hidden packets are in the output", hidden)
			}
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
		tolerance = 1./90000 + 1e-6 // the same at 90 kHz
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
	// start of the second half (the first starts at 900)
	for _, offset := range []float64{3, 881, 892, 896, 899, 900.5, 1000, 7000} {
		t.Run(fmt.Sprintf("by %g s", offset-901), func(t *testing.T) {
			e2e.Start(t, offset == 3 || offset == 900.5)
			const args = "-f lavfi -i testsrc2=s=96x64:r=25:d=1 -f lavfi -i sine=r=48000:d=1 " + bframes + yuv + "-c:a mp2 -muxdelay 0 "
			a := e2e.Read(t, clip(t, "jump-a.ts", args+"-output_ts_offset 900"))
			b := e2e.Read(t, clip(t, fmt.Sprintf("jump-%g.ts", offset), fmt.Sprint(args, "-output_ts_offset ", offset)))
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

// Joined recordings that overlap stay in sync: a beep is heard with each flash, before and after
// the joint.
func TestJoinsInSync(t *testing.T) {
	const dark = `-f lavfi -i color=black:s=64x48:r=25:d=1.6,drawbox=c=white:t=fill:enable=lt(mod(t\,0.8)\,0.039) ` +
		`-f lavfi -i aevalsrc=if(lt(mod(t\,0.8)\,0.04)\,0.7*sin(2*PI*1000*t)\,0):s=48000:d=1.6 -muxdelay 0 -c:a aac ` + yuv
	for i, overlap := range []float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.7} {
		coding, to := []string{bframes, "-c:v libx264 -preset ultrafast -bf 0 "}[i%2], []string{"mkv", "mp4", "ts"}[i%3]
		t.Run(fmt.Sprintf("%g s to %s", overlap, to), func(t *testing.T) {
			e2e.Start(t, i == 3)
			var all []byte
			for n := range 3 {
				name := fmt.Sprintf("flash-%d-%d-%g.ts", i%2, n, overlap)
				b := e2e.Read(t, clip(t, name, dark+coding+fmt.Sprintf("-output_ts_offset %g", 5+float64(n)*(1.6-overlap))))
				all = append(all, b...)
			}
			src := put(t, fmt.Sprintf("flashes-%g.ts", overlap), all)
			out, said := filter(t, src, to, "") // and with exit code 0
			flashes, beeps := flashes(t, out), beeps(t, out)
			if len(flashes) != 6 || len(beeps) != 6 {
				t.Fatalf("%d flashes and %d beeps instead of 6: %s", len(flashes), len(beeps), said)
			}
			for n := range flashes {
				if off := beeps[n] - flashes[n] - (beeps[0] - flashes[0]); math.Abs(off) > 0.01 {
					t.Errorf("beep %d is %.3f s late: %s", n, off, said)
				}
			}
		})
	}
}

// flashes returns the times at which a video becomes white.
func flashes(t *testing.T, path string) (list []float64) {
	t.Helper()
	const size = 64 * 48
	pictures, white := raw(t, path, "gray"), false
	for i, at := range times(t, path) {
		was := white
		if white = pictures[i*size+size/2] > 128; white && !was {
			list = append(list, at)
		}
	}
	return list
}

// beeps returns the times at which the sound of a file begins anew, by the times of its packets.
func beeps(t *testing.T, path string) (list []float64) {
	t.Helper()
	const rate, silence, loud = 48000, 4800, 6000
	pcm := run(t, "ffmpeg", "-v", "quiet", "-nostdin", "-i", "file:"+path, "-map", "0:a:0", "-ac", "1", "-f", "s16le", "pipe:1")
	quiet := silence
	for _, f := range framesOf(t, path, "audio") {
		for i := range f.Samples {
			if len(pcm) < 2 {
				return list
			}
			level := int16(binary.LittleEndian.Uint16(pcm))
			pcm = pcm[2:]
			if quiet++; level > loud || level < -loud {
				if quiet > silence {
					list = append(list, number(f.Shown)+float64(i)/rate)
				}
				quiet = 0
			}
		}
	}
	return list
}

// Streams of broadcasts: those that move to another PID go on, programs with different clocks are
// put beside each other, and PIDs that a table needs do no harm.
func TestBroadcasts(t *testing.T) {
	moved, clocks := "testdata/corpus/pmt-moves-pids.ts", "testdata/corpus/two-programs-two-clocks.ts"
	for _, c := range []struct {
		src, to, args string
		pictures      []int   // of each video
		sounds        []int   // packets of each sound
		ends          float64 // of the whole, in seconds
	}{
		{moved, "mkv", "", []int{50}, []int{78}, 3.4},
		{moved, "ts", "", []int{50}, []int{78}, 3.4},
		{moved, "mp4", "--no-audio", []int{50}, nil, 3.4},
		{clocks, "mkv", "", []int{25, 25}, []int{39, 39}, 2.42},
		{clocks, "ts", "--duration 0.5", []int{13, 13}, []int{20, 20}, 1.95},
		{clip(t, "pids.ts", both+bframes+yuv+"-c:a mp2 -streamid 0:4096 -streamid 1:8190 -mpegts_pmt_start_pid 300"), "ts", "", []int{20}, []int{34}, 2.2},
	} {
		t.Run(filepath.Base(c.src)+" to "+c.to+c.args, func(t *testing.T) {
			e2e.Start(t, c.to == "ts")
			out, said := filter(t, c.src, c.to, c.args)
			m := probe(t, out)
			count := func(kind string) (list []int) {
				for _, s := range m.kind(kind) {
					list = append(list, len(m.of(s)))
				}
				return list
			}
			if v, a := count("video"), count("audio"); !slices.Equal(v, c.pictures) || !slices.Equal(a, c.sounds) {
				t.Errorf("%v pictures and %v packets of sound instead of %v and %v: %s", v, a, c.pictures, c.sounds, said)
			}
			if ends := number(m.Format.Duration); math.Abs(ends-c.ends) > 0.1 && c.to == "mkv" {
				t.Errorf("it ends at %.3f s instead of %.3f: %s", ends, c.ends, said)
			}
		})
	}
}

// A stream that begins too late to be a track is reported, and its loss is damage.
func TestLateStream(t *testing.T) {
	e2e.Start(t, true)
	src := clip(t, "late-sound.mpg", "-f lavfi -i testsrc2=s=64x48:r=25:d=13 -itsoffset 12 -f lavfi -i sine=d=1 -c:v mpeg2video -c:a mp2")
	_, said, code := attempt(t, src, "mkv", "")
	if code != 6 || !strings.Contains(said, "stream 1 (audio mp2) begins at 12.") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
