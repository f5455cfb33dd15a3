package media

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

const (
	retimed  = "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i anoisesrc=r=48000:a=0.4:d=2 " + retimeBy
	retimeBy = "-c:v libx264 -preset fast -bf 3 -g 10 -pix_fmt yuv420p -c:a aac -aac_pns 0 -b:a 128k"
	retimeIn = "-i @retime.mp4 -c copy "
)

// Graphs that change the times or the number of frames give the frames of ffmpeg -vf, from every
// kind of clock, and sound keeps its times. A job that is one stream reports it if parts were
// requested. Every two values of two lists meet once. VIDFILTER_TEST_ALL=1 runs the whole product.
func TestRetimed(t *testing.T) {
	sources := []struct{ name, args string }{
		{"edited.mp4", "-ss 0.5 " + retimeIn},
		{"vfr.mkv", "-f lavfi -i testsrc2=s=96x64:r=100:d=2,select='lt(mod(n*n\\,17)\\,5)' -f lavfi -i anoisesrc=r=48000:a=0.4:d=2 -vsync vfr " + retimeBy},
		{"offset.ts", "-itsoffset 7.3 " + retimeIn},
		{"late.mov", "-i @retime.mp4 -itsoffset 0.4 -i @retime.mp4 -map 0:v -map 1:a -c copy"},
	}
	graphs := []string{"bwdif=1", "fps=source_fps/2", "decimate", "fps=30000/1001", "setpts=1.5*PTS", "telecine", "scale=64:48", "null"}
	ways := []string{"", "--start 0.41 --duration 1", "--frames 21", "--parts 3"}
	ends := []string{"mp4", "mkv", "ts", "mov"}
	const fields = "setfield=tff,bwdif=1" // gives the same times as --deinterlace
	for i, src := range sources {
		t.Run(src.name+"/fields", func(t *testing.T) {
			e2e.Start(t, true)
			clip(t, "retime.mp4", retimed)
			in := clip(t, "retime-"+src.name, src.args)
			out, _ := filter(t, in, ends[i], "--deinterlace --field-order tff "+ways[i])
			isRetimed(t, in, out, fields, ways[i])
		})
	}
	all := os.Getenv("VIDFILTER_TEST_ALL") != ""
	for i, src := range sources {
		for k, graph := range graphs {
			for n, way := range ways {
				for m, to := range ends {
					if !all && (n != i^k%4 || m != i^[]int{0, 2, 3, 1}[k%4]) { // two Latin squares
						continue
					}
					t.Run(src.name+"/"+graph+"/"+way+" to "+to, func(t *testing.T) {
						e2e.Start(t, true)
						clip(t, "retime.mp4", retimed)
						in := clip(t, "retime-"+src.name, src.args)
						out, said := filter(t, in, to, "--after "+graph+" "+way)
						if local := k >= 6; way == "--parts 3" && !local && !strings.Contains(said, "as one stream") {
							t.Errorf("it does not say why there are no parts: %s", said)
						}
						isRetimed(t, in, out, graph, way)
					})
				}
			}
		}
	}
}

// isRetimed compares a result with ffmpeg's for the frames that a job takes, to the millisecond and
// the steps of the containers.
func isRetimed(t *testing.T, in, out, graph, way string) {
	t.Helper()
	const exact = 0.0015
	taken, shift := "null", 0.0 // the frames, and the job's shift of their times
	switch way {
	case "--frames 21":
		taken = "trim=end_frame=21"
	case "--start 0.41 --duration 1":
		shift = 0.41 + max(0, number(probe(t, in).Format.Start))
		taken = fmt.Sprintf("trim=%f:%f,setpts=PTS-round(%f/TB)", shift, shift+1, shift)
	}
	want, got := shown(t, in, taken+","+graph), shown(t, out, "null")
	if graph == "decimate" { // FFmpeg 5 does not round the first time to the unit of its rate
		late := math.Floor(want.video[0]*want.rate+0.5)/want.rate - want.video[0]
		for i := range want.video {
			want.video[i] += late
		}
	}
	if n := len(want.video) - len(got.video); shift > 0 && strings.Contains(in, "vfr") && n > 0 && n <= 2 {
		want.video = want.video[:len(got.video)] // trim ends with the next frame, a job with its last one
	}
	if len(want.video) != len(got.video) {
		t.Fatalf("%d frames, not %d", len(got.video), len(want.video))
	}
	first, last := got.video[0], got.video[len(got.video)-1]
	for i := range got.video {
		if d := (got.video[i] - first) - (want.video[i] - want.video[0]); math.Abs(d) > exact {
			t.Fatalf("frame %d is at %f, not %f", i, got.video[i]-first, want.video[i]-want.video[0])
		}
	}
	same := 0
	for at, sum := range got.sound {
		if was, ok := want.at[sum]; ok {
			same++
			if d := (got.times[at] - first) - (was - shift - want.video[0]); math.Abs(d) > exact {
				t.Fatalf("sound of %f is at %f, the pictures of %f at %f", was-shift, got.times[at], want.video[0], first)
			}
		}
	}
	if same < len(got.sound)/2 || same < 20 {
		t.Errorf("%d of %d pieces of sound are those of the source", same, len(got.sound))
	}
	steady := !strings.Contains(in, "vfr") || strings.HasPrefix(graph, "fps") || graph == "decimate"
	if mean := float64(len(got.video)-1) / (last - first); steady && !strings.HasSuffix(out, ".ts") { // which has no rate
		if rate := ratio(probe(t, out).video(t).Rate); math.Abs(rate/mean-1) > 0.05 {
			t.Errorf("the mean rate is %g, not %g", rate, mean)
		}
	}
}

// showing is ffmpeg's view of a file: the times of its pictures and their rate, and the times and
// sums of its pieces of sound.
type showing struct {
	video, times []float64
	rate         float64
	sound        []string
	at           map[string]float64 // times by sums
}

var (
	unitShown  = regexp.MustCompile(`config in time_base: (\S+), frame_rate: (\S+)`)
	frameShown = regexp.MustCompile(`n: *\d+ pts: *(-?\d+) pts_time`)
	pieceShown = regexp.MustCompile(`n:\d+ pts:(-?\d+) pts_time.* rate:(\d+) .*checksum:(\w+) `)
)

// shown has ffmpeg decode a file through a graph.
func shown(t *testing.T, path, graph string) (s showing) {
	t.Helper()
	args := []string{"-v", "info", "-nostats", "-copyts", "-i", "file:" + path, "-map", "0:v:0", "-vf", graph + ",showinfo", "-map", "0:a:0", "-af", "ashowinfo", "-vsync", "0", "-f", "null", "-"}
	_, said, err := e2e.Output("ffmpeg", args...)
	if err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, said)
	}
	unit, s := 0.0, showing{at: map[string]float64{}}
	for line := range strings.Lines(string(said)) {
		if m := unitShown.FindStringSubmatch(line); m != nil {
			unit, s.rate = ratio(m[1]), ratio(m[2])
		} else if m := pieceShown.FindStringSubmatch(line); m != nil {
			at := number(m[1]) / number(m[2])
			s.times, s.sound, s.at[m[3]] = append(s.times, at), append(s.sound, m[3]), at
		} else if m := frameShown.FindStringSubmatch(line); m != nil {
			s.video = append(s.video, number(m[1])*unit)
		}
	}
	if len(s.video) == 0 || len(s.sound) == 0 {
		t.Fatalf("%s has %d pictures and %d pieces of sound", path, len(s.video), len(s.sound))
	}
	return s
}
