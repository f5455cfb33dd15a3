package media

import (
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

const (
	retimed  = "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i sine=r=48000:d=2 -c:v libx264 -preset fast -bf 3 -g 10 -pix_fmt yuv420p -c:a aac "
	retimeIn = "-i @retime.mp4 -c copy "
)

// Graphs that change the times or the number of frames give the frames of ffmpeg -vf, from every
// kind of clock, and sound stays where it was. Each job is one stream, and says so where parts were
// asked for.
func TestRetimed(t *testing.T) {
	sources := []struct{ name, args string }{
		{"edited.mp4", "-ss 0.5 -i @retime.mp4 -c copy"},
		{"vfr.mkv", "-f lavfi -i testsrc2=s=96x64:r=100:d=2,select='lt(mod(n*n\\,17)\\,5)' -f lavfi -i sine=d=2 -vsync vfr -c:v libx264 -preset fast -bf 3 -g 10 -pix_fmt yuv420p -c:a aac"},
		{"offset.ts", "-itsoffset 7.3 " + retimeIn},
		{"late.mov", "-i @retime.mp4 -itsoffset 0.4 -i @retime.mp4 -map 0:v -map 1:a -c copy"},
	}
	graphs := []string{"bwdif=1", "fps=source_fps/2", "decimate", "fps=30000/1001", "scale=64:48", "null"}
	ways := []string{"", "--start 0.4 --duration 1", "--frames 21", "--parts 3"}
	for i, src := range sources {
		for k, graph := range graphs {
			for n, way := range ways {
				if (i+k)%4 != n { // each graph meets each source once, and each way
					continue
				}
				to := []string{"mp4", "mkv", "ts"}[(i+k+n)%3]
				t.Run(src.name+"/"+graph+"/"+way+" to "+to, func(t *testing.T) {
					e2e.Start(t, true)
					clip(t, "retime.mp4", retimed)
					in := clip(t, "retime-"+src.name, src.args)
					out, said := filter(t, in, to, "--after "+graph+" "+way)
					if local := k >= 4; way == "--parts 3" && !local && !strings.Contains(said, "as one stream") {
						t.Errorf("it does not say why there are no parts: %s", said)
					}
					plain, _ := filter(t, in, "mkv", way) // the frames that are wanted
					isRetimed(t, plain, out, graph)
				})
			}
		}
	}
}

// isRetimed holds a result to what ffmpeg makes of its frames, to the millisecond and the steps of
// the container.
func isRetimed(t *testing.T, plain, out, graph string) {
	t.Helper()
	want, got := filteredTimes(t, plain, graph), packetTimes(t, out, "video")
	if len(want) != len(got) {
		t.Fatalf("%d frames, not %d", len(got), len(want))
	}
	const exact = 0.0015
	for i := range got {
		if d := (got[i] - got[0]) - (want[i] - want[0]); math.Abs(d) > exact {
			t.Fatalf("frame %d is at %f, not %f", i, got[i]-got[0], want[i]-want[0])
		}
	}
	video, sound := packetTimes(t, plain, "video"), packetTimes(t, plain, "audio")
	shift := want[0] - video[0] // the first frame of the graph begins elsewhere
	now := packetTimes(t, out, "audio")
	if len(now) == 0 || len(sound) == 0 {
		t.Fatalf("%d packets of sound, not %d", len(now), len(sound))
	}
	near := exact
	if graph == "decimate" { // which begins a fifth of a frame earlier in FFmpeg 5
		near += 0.01
	}
	if d := (now[0] - got[0]) - (sound[0] - video[0] - shift); math.Abs(d) > near {
		t.Errorf("sound begins %f after the first frame, not %f", now[0]-got[0], sound[0]-video[0]-shift)
	}
	if rate := ratio(probe(t, out).video(t).Rate); len(got) > 5 && !strings.HasSuffix(out, ".ts") { // which has no rate
		mean := float64(len(got)-1) / (got[len(got)-1] - got[0])
		if math.Abs(rate/mean-1) > 0.05 {
			t.Errorf("the mean rate is %g, not %g", rate, mean)
		}
	}
}

var shownAt = regexp.MustCompile(`pts_time:([0-9.]+)`)

// filteredTimes returns the times of the frames that ffmpeg makes with a graph.
func filteredTimes(t *testing.T, path, graph string) (list []float64) {
	t.Helper()
	said, err := exec.Command("ffmpeg", "-v", "info", "-copyts", "-i", path, "-map", "0:v:0", "-vf", graph+",showinfo", "-vsync", "0", "-f", "null", "-").CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, said)
	}
	for _, m := range shownAt.FindAllStringSubmatch(string(said), -1) {
		at, err := strconv.ParseFloat(m[1], 64)
		e2e.Must(t, err)
		list = append(list, at)
	}
	return list
}

// packetTimes returns the times of a stream's packets, as they are shown.
func packetTimes(t *testing.T, path, kind string) (list []float64) {
	t.Helper()
	m := probe(t, path)
	for _, p := range m.Packets {
		if m.Streams[p.Stream].Kind == kind {
			at, err := strconv.ParseFloat(p.Time, 64)
			e2e.Must(t, err)
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return list
}
