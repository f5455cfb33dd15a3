package main

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// TestRecordFile: a recording of a file has all its pictures at their times, however slow the
// filter; with --loop each round follows the one before.
func TestRecordFile(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	uneven := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=1", "-vf", `select='lt(n,9)+not(mod(n,4))'`,
		"-fps_mode", "vfr", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", filepath.Join(dir, "in.mp4")}
	e2e.Run(t, "ffmpeg", uneven...)
	want := pictureTimes(t, filepath.Join(dir, "in.mp4"))
	if len(want) < 12 {
		t.Fatalf("the clip has %d pictures", len(want))
	}
	for _, ending := range []string{"mp4", "mkv"} {
		out := "out." + ending
		p := vidfilterIn(t, dir, "live", "--no-open", "--listen", "127.0.0.1:0", "-i", "in.mp4", "--record", out, "-r", "12", "--threads", "1").start()
		p.await("recorded " + out)
		p.signal(syscall.SIGINT)
		p.wantExit(0)
		if got := pictureTimes(t, filepath.Join(dir, out)); !slices.EqualFunc(got, want, closeTo) {
			t.Errorf("%s has pictures at %v instead of %v", out, got, want)
		}
		if s := p.said(); strings.Contains(s, "left out") {
			t.Error(s)
		}
	}
	p := vidfilterIn(t, dir, "live", "--no-open", "--listen", "127.0.0.1:0", "-i", "in.mp4", "--loop", "--record", "loop.mp4", "--device", "cpu").start()
	p.awaitTimes("in.mp4: ", 3)
	p.signal(syscall.SIGINT)
	p.wantExit(0)
	got := pictureTimes(t, filepath.Join(dir, "loop.mp4"))
	round := wantFloat(t, ffprobe(t, "-select_streams", "v", "-show_entries", "stream=duration", filepath.Join(dir, "in.mp4")))
	for i, at := range got {
		if w := want[i%len(want)] + float64(i/len(want))*round; i/len(want) < 2 && !closeTo(at, w) {
			t.Errorf("picture %d of the loop is at %v instead of %v", i, at, w)
		}
	}
	if len(got) < 2*len(want) {
		t.Errorf("%d pictures in more than two rounds of %d", len(got), len(want))
	}
}

// closeTo allows for rounding in Matroska.
func closeTo(a, b float64) bool { return a-b < 0.0011 && b-a < 0.0011 }

// pictureTimes returns when the pictures of a file are shown, from the first one.
func pictureTimes(t *testing.T, file string) (times []float64) {
	t.Helper()
	for _, s := range strings.Fields(ffprobe(t, "-select_streams", "v", "-show_entries", "packet=pts_time", file)) {
		times = append(times, wantFloat(t, s))
	}
	slices.Sort(times)
	for i := range times {
		times[len(times)-1-i] -= times[0]
	}
	return times
}

// TestRecordSound: the sound of a file is in its recording, in time with the filtered picture, also
// when it is played twice. The clip flashes and beeps at once, each second.
func TestRecordSound(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	clip := []string{
		"-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=black:s=160x90:r=25:d=2",
		"-f", "lavfi", "-i", "aevalsrc='if(between(mod(t,1),0.4,0.6),0.5*sin(2*PI*1000*t),0)':s=44100:d=2",
		"-vf", "drawbox=color=white:t=fill:enable='between(mod(t,1),0.399,0.599)'", "-pix_fmt", "yuv420p",
	}
	for _, c := range []struct{ in, sound, out, codec string }{
		{"in.mp4", "aac", "out.mp4", "aac"}, {"in.mkv", "aac", "out.mkv", "aac"}, {"in.mkv", "pcm_s16le", "out.mp4", "aac"}, {"in.mkv", "wmav2", "out.mkv", "aac"}, {"in.mkv", "libopus", "out.mkv", "opus"},
	} {
		in := c.sound + c.in
		made := slices.Concat(clip, []string{"-c:v", "libx264", "-preset", "ultrafast", "-c:a", c.sound, filepath.Join(dir, in)})
		e2e.Run(t, "ffmpeg", made...)
		out := c.sound + "-" + c.out
		p := vidfilterIn(t, dir, "live", "--no-open", "--listen", "127.0.0.1:0", "-i", in, "--record", out, "-r", "1", "--device", "cpu", "--loop").start()
		p.awaitTimes(in+": ", 3)
		p.signal(syscall.SIGINT)
		p.wantExit(0)
		got := filepath.Join(dir, out)
		if codec := strings.TrimSpace(ffprobe(t, "-select_streams", "a", "-show_entries", "stream=codec_name", got)); codec != c.codec {
			t.Errorf("%s: the sound is %q", out, codec)
		}
		flashes, beeps := flashTimes(t, got), beepTimes(t, got)
		if len(flashes) < 4 || len(beeps) < len(flashes)-1 {
			t.Fatalf("%s: flashes at %v, beeps at %v", out, flashes, beeps)
		}
		for i, at := range beeps[:min(len(beeps), len(flashes))] {
			if d := at - flashes[i]; d < -0.04 || d > 0.04 {
				t.Errorf("%s: a flash at %.3f, and its beep at %.3f", out, flashes[i], at)
			}
		}
	}
}

// TestRecordStdinSound: the sound that a program writes beside a camera is recorded at its times.
func TestRecordStdinSound(t *testing.T) {
	shortSkip(t)
	e2e.NeedsFFmpeg(t)
	t.Parallel()
	dir := t.TempDir()
	p := vidfilterIn(t, dir, "live", "-i", "test", "--size", "160x90", "--sound", "-", "--no-page", "--record", "out.mp4", "-r", "1", "--device", "cpu")
	in, err := p.StdinPipe()
	e2e.Must(t, err)
	p.start()
	p.await("test: 160x90")
	const rate = 48000
	begin := time.Now()
	piece := make([]byte, rate/50*4)
	for n := range 100 { // 2 s in pieces of 20 ms, with a beep of 5 pieces every 25
		time.Sleep(time.Until(begin.Add(time.Duration(n+1) * 20 * time.Millisecond)))
		for i := range rate / 50 {
			x := int16(0)
			if n%25 < 5 {
				x = int16(12000 * math.Sin(2*math.Pi*1000*float64(i)/rate))
			}
			binary.LittleEndian.PutUint16(piece[4*i:], uint16(x))
			binary.LittleEndian.PutUint16(piece[4*i+2:], uint16(x))
		}
		if _, err := in.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	p.await("the sound has ended")
	p.signal(syscall.SIGINT)
	p.wantExit(0)
	beeps := beepTimes(t, filepath.Join(dir, "out.mp4"))
	if len(beeps) < 3 {
		t.Fatalf("beeps at %v", beeps)
	}
	for i := 1; i < len(beeps); i++ {
		if d := beeps[i] - beeps[i-1]; d < 0.47 || d > 0.53 {
			t.Errorf("beeps at %v", beeps)
		}
	}
}

// flashTimes returns when a file's pictures turn white.
func flashTimes(t *testing.T, file string) (times []float64) {
	t.Helper()
	start := wantFloat(t, ffprobe(t, "-select_streams", "v", "-show_entries", "stream=start_time", file))
	luma := e2e.Run(t, "ffmpeg", "-v", "error", "-i", file, "-an", "-fps_mode", "passthrough", "-vf", "scale=1:1", "-pix_fmt", "gray", "-f", "rawvideo", "-")
	at := pictureTimes(t, file)
	if len(luma) != len(at) {
		t.Fatalf("%d pictures at %d times", len(luma), len(at))
	}
	for i := 1; i < len(luma); i++ {
		if luma[i] > 128 && luma[i-1] <= 128 {
			times = append(times, start+at[i])
		}
	}
	return times
}

// beepTimes returns when a file's sound begins after silence.
func beepTimes(t *testing.T, file string) (times []float64) {
	t.Helper()
	const rate = 8000
	pcm := e2e.Run(t, "ffmpeg", "-v", "error", "-i", file, "-vn", "-af", "aresample=async=1:first_pts=0", "-ac", "1", "-ar", "8000", "-f", "s16le", "-")
	quiet := rate
	for i := 0; i+1 < len(pcm); i += 2 {
		if s := int16(binary.LittleEndian.Uint16(pcm[i:])); s > 3000 || s < -3000 {
			if quiet > rate/4 {
				times = append(times, float64(i/2)/rate)
			}
			quiet = 0
		} else {
			quiet++
		}
	}
	return times
}
